// Apple's is Objective-C, which no C file can read; one declaration is enough to have that.
@class NSString;
