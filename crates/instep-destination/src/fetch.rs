//! Actions to staged, verified files: bounded concurrency, retry, resume.
