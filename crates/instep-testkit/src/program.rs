//! The program under test, and the outcome of its runs.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The output of a program that has ended.
#[derive(Clone, Debug)]
pub struct Run {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Run {
    /// Runs a command to its end.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().expect("a program that starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Returns the same run if it ended with this code.
    ///
    /// # Panics
    /// If it ended with another code; the message has its output.
    #[must_use]
    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n{}\n{}", self.stdout, self.stderr);
        self
    }
}

/// Returns a command for the `instep` of this build, without configuration or environment of the user.
///
/// # Panics
/// If it has not been built.
pub fn instep<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let binary = binary();
    assert!(binary.is_file(), "{} is not there: cargo build -p instep", binary.display());
    let mut command = Command::new(binary);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("INSTEP_")) {
        command.env_remove(name);
    }
    command.args(arguments).env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// Returns the path of the program, which is beside the folder of the test programs.
fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test program");
    let folder = test.ancestors().nth(2).expect("it lies in deps");
    folder.join(format!("instep{}", std::env::consts::EXE_SUFFIX))
}

/// Returns a command for an example of a package, which Cargo builds beside the tests.
///
/// # Panics
/// If it cannot be built.
pub fn example(package: &str, name: &str) -> Command {
    let test = std::env::current_exe().expect("a test program");
    let path = test.ancestors().nth(2).expect("it lies in deps").join("examples").join(name);
    let built = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    if built(&path) < built(&test) {
        // A run of a single test builds no examples: the example is missing, or out of date.
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let built = cargo.args(["build", "--quiet", "--package", package, "--example", name]).status();
        assert!(built.is_ok_and(|status| status.success()), "{name} of {package} cannot be built");
    }
    Command::new(path)
}

/// Returns a command that runs another one, in its folder and environment.
#[must_use]
pub fn wrap(mut outer: Command, inner: &Command) -> Command {
    outer.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    if let Some(folder) = inner.get_current_dir() {
        outer.current_dir(folder);
    }
    outer
}
