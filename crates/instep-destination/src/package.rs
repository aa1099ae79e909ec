//! A dump as a second origin of bitstreams.
