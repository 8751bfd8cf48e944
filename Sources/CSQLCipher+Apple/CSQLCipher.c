// The header is Swift's to read: in C the framework's module does not build, for it needs Foundation.
