//! Watch, settle, publish again: the task that runs beside the server.
