"""The engine on the compiled core, and the protocol of matchers that every engine keeps."""
