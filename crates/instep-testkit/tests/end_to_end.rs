//! The program as a person runs it: commands, exit codes, and hostile Sources beside the reference client.

#[path = "end_to_end/exit_codes.rs"]
mod exit_codes;
#[path = "end_to_end/hostile.rs"]
mod hostile;
#[path = "end_to_end/story.rs"]
mod story;
