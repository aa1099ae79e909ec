//! Documents and resources over HTTP: run(listener, app, shutdown).
