//! The story: scan, record, render, write, announce.
