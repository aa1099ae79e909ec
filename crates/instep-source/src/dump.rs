//! Packages: size-bounded parts, streaming, reproducible.
