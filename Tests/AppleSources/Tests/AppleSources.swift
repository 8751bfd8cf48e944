import Testing

/// What the sources for Apple's systems do, seen through the stubs. One after another: the stubs are the whole program's.
@Suite(.serialized) struct AppleSources {}
