// As SQLCipher.swift's framework has it (https://github.com/sqlcipher/SQLCipher.swift). Scripts/apple-check puts the
// distribution's sqlite3.h beside it.
#import <Foundation/Foundation.h>

#import <SQLCipher/sqlite3.h>
