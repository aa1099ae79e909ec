//! `instep.toml`: options of the command line in a file, in a table per command. A key becomes words of the command
//! line, so each option is read and checked in one way.
//!
//! ```toml
//! [sync]
//! transfers = 32
//! include = ["papers/**"]
//! ```

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use clap::error::{ContextKind, ContextValue};
use toml::{Table, Value, de::DeTable};

use crate::global::variable;

mod place;
mod tables;
mod words;

use place::{alike, line_of};
pub(crate) use place::{line, slips};
use words::as_words;

/// Tables that belong to no command.
const SHARED_TABLES: [&str; 6] = ["credentials", "set", "link", "changefreq", "coded", "generic"];

/// The content of the configuration file; empty if there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    path: PathBuf,
    table: Table,
    /// The file as it is written, for the lines in messages.
    text: String,
}

/// Two configurations are equal if only comments and blank lines differ.
impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        (&self.path, &self.table) == (&other.path, &other.table)
    }
}

impl Config {
    /// Reads the file that `--config` or `INSTEP_CONFIG` names, else `./instep.toml`, else the user's.
    ///
    /// Errors: a file that cannot be read or is not TOML.
    pub(crate) fn find(argv: &[OsString]) -> anyhow::Result<Self> {
        // An empty variable counts as one that is not set, as in other programs.
        let path_of = |variable| env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
        if let Some(path) = named(argv).or_else(|| path_of("INSTEP_CONFIG")) {
            return Self::read(path);
        }
        let user = path_of("XDG_CONFIG_HOME")
            .or_else(|| path_of("HOME").map(|home| home.join(".config")))
            .map(|folder| folder.join("instep/instep.toml"));
        let found = [Some("instep.toml".into()), user].into_iter().flatten().find(|path| path.is_file());
        found.map_or_else(|| Ok(Self::default()), Self::read)
    }

    fn read(path: PathBuf) -> anyhow::Result<Self> {
        let text = fs::read_to_string(&path).with_context(|| format!("Cannot read {}", path.display()))?;
        // Only the first fault is reported: after it the parser reports correct lines, too.
        let at = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
        if let Some(error) = DeTable::parse_recoverable(&text).1.iter().min_by_key(|error| at(error)) {
            let place = line(&text, at(error));
            bail!("{} line {place} is not TOML: {}", path.display(), error.message().replace('\n', ", "));
        }
        let table = text.parse::<Table>().map_err(|error| {
            let place = line(&text, at(&error));
            anyhow!("{} line {place} is not TOML: {}", path.display(), error.message().replace('\n', ", "))
        })?;
        Ok(Self { path, table, text })
    }

    /// Returns the path it was read from; empty if there is none.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text of the file. It must not be read a second time: it may be a pipe, or have changed since.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns a table or array that belongs to no command, such as `set` or `credentials`; `None` if the file has
    /// none.
    pub(crate) fn shared(&self, name: &str) -> Option<&Value> {
        self.table.get(name)
    }

    /// Inserts the options of the file after the command, before the typed ones. Options that the command line or the
    /// environment sets are left out.
    ///
    /// Errors: a table or key that no command has, or a value of the wrong kind.
    pub(crate) fn fill_in(
        &self,
        argv: Vec<OsString>,
        command: &clap::Command,
    ) -> anyhow::Result<Vec<OsString>> {
        self.refuse_unknown_tables(command)?;
        let Some((index, subcommand)) = subcommand_of(&argv, command) else { return Ok(argv) };
        let mut words = Vec::new();
        for (key, (table, value)) in self.keys_for(subcommand.get_name()) {
            let argument = subcommand.get_arguments().find(|arg| arg.get_long() == Some(key));
            // The key may come from the table of another command (see `keys_for`) and be an option of that command
            // only. Then it is valid and has no effect here.
            let owner = command.find_subcommand(table).unwrap_or(subcommand);
            if argument.is_none() && !owner.get_arguments().any(|arg| arg.get_long() == Some(key)) {
                let place = self.place(table, key);
                if key == "help" {
                    bail!("{place} [{table}] no file sets help; use --help");
                }
                if command.get_arguments().any(|arg| arg.is_global_set() && arg.get_long() == Some(key)) {
                    let of_environment = variable(key);
                    bail!(
                        "{place} [{table}] no file sets {key}; use --{key} or the variable {of_environment}"
                    );
                }
                let known = owner.get_arguments().filter_map(clap::Arg::get_long);
                bail!("{place} [{table}] has no key {key}{}", alike(key, known));
            }
            if let Some(argument) = argument.filter(|_| !is_set(&argv, subcommand, key)) {
                let at = || format!("{} [{table}] {key}", self.place(table, key));
                words.extend(as_words(argument, value).with_context(at)?);
            }
        }
        let mut filled = argv;
        filled.splice(index + 1..index + 1, words);
        Ok(filled)
    }

    /// Returns an error about a command line that was completed from the file and the environment, in terms of the typed
    /// command line: the usage contains only typed options, a fault of the file is reported with its table and key, and
    /// one of the environment with its variable.
    pub(crate) fn explain(
        &self,
        mut error: clap::Error,
        command: &mut clap::Command,
        (argv, filled): (&[OsString], &[OsString]),
    ) -> clap::Error {
        let Some((_, subcommand)) = subcommand_of(argv, command) else { return error };
        let name = subcommand.get_name().to_owned();
        let option = untyped_option(&error, subcommand, (argv, filled));
        if argv != filled
            && let Some(subcommand) = command.find_subcommand_mut(&name)
        {
            error.insert(ContextKind::Usage, ContextValue::StyledStr(subcommand.render_usage()));
        }
        let Some((key, is_of_file)) = option else { return error };
        let place = if is_of_file {
            let table =
                self.keys_for(&name).find(|(known, _)| *known == key).map_or(&*name, |(_, (table, _))| table);
            format!("{} [{table}] {key}", self.place(table, &key))
        } else {
            variable(&key)
        };
        let text = error.to_string();
        let what = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
        // The usage is left out: it describes typed words, and the fault is in the file or in the environment.
        clap::Error::raw(error.kind(), format!("{place}: {what}\n"))
    }

    /// Returns the file and line of a key of a table, or of the table if `key` is empty: the beginning of a message.
    pub(crate) fn place(&self, table: &str, key: &str) -> String {
        let line = line_of(&self.text, table, key).map_or_else(String::new, |line| format!(" line {line}"));
        format!("{}{line}:", self.path.display())
    }

    /// Returns the file and line of a byte: the beginning of a message.
    pub(crate) fn place_at(&self, at: usize) -> String {
        format!("{} line {}:", self.path.display(), line(&self.text, at))
    }

    /// Returns the keys that hold for a command, each with its table. `serve` and `republish` publish too, `audit` reads a
    /// Source as `sync` does and `source` has the fleet of `run`, so they take the keys of those.
    fn keys_for<'a>(&'a self, subcommand: &'a str) -> impl Iterator<Item = (&'a str, (&'a str, &'a Value))> {
        let tables: &[&str] = match subcommand {
            "serve" => &["publish", "serve"],
            "republish" => &["publish", "serve", "republish"],
            "audit" => &["sync", "audit"],
            "explore" => &["sync", "explore"],
            // `source` and `run` work on the same fleet.
            "source" => &["run"],
            _ => &[subcommand],
        };
        let mut latest = BTreeMap::new();
        for table in tables.iter().copied() {
            for (key, value) in self.table.get(table).and_then(Value::as_table).into_iter().flatten() {
                latest.insert(key.as_str(), (table, value));
            }
        }
        latest.into_iter()
    }

    fn refuse_unknown_tables(&self, command: &clap::Command) -> anyhow::Result<()> {
        for (name, value) in &self.table {
            let place = || self.place(name, "");
            if name == "source" && !value.is_array() {
                bail!(
                    "{} write [[source]], with two brackets, for each Source; a table [source] has no meaning",
                    place()
                );
            }
            if name == "source" || SHARED_TABLES.contains(&name.as_str()) {
                continue;
            }
            if command.find_subcommand(name).is_none() {
                let owners: Vec<_> = command
                    .get_subcommands()
                    .filter(|owner| owner.get_arguments().any(|arg| arg.get_long() == Some(name)))
                    .map(|owner| format!("[{}]", owner.get_name()))
                    .collect();
                if !value.is_table() && !owners.is_empty() {
                    bail!(
                        "{} {name} stands in no table; write it below a line {}",
                        place(),
                        owners.join(" or ")
                    );
                }
                let tables = command.get_subcommands().map(clap::Command::get_name).chain(SHARED_TABLES);
                bail!("{} there is no command {name} to configure{}", place(), alike(name, tables));
            }
            if !value.is_table() {
                bail!("{} {name} is a command; write its options below a line [{name}]", place());
            }
        }
        Ok(())
    }
}

/// Returns the command of a command line, and its place in it.
fn subcommand_of<'c>(argv: &[OsString], command: &'c clap::Command) -> Option<(usize, &'c clap::Command)> {
    let named = |word: &OsString| word.to_str().and_then(|word| command.find_subcommand(word));
    // The value of an option may be the name of a command, as in: instep --config sync publish.
    let is_value =
        |index: usize| ["--config", "--progress", "--log-format"].iter().any(|it| argv[index] == *it);
    let words = argv.iter().enumerate().skip(1).filter(|(index, _)| !is_value(index - 1));
    words.into_iter().find_map(|(index, word)| Some((index, named(word)?)))
}

/// Returns the file that `--config` names.
fn named(argv: &[OsString]) -> Option<PathBuf> {
    let mut words = argv.iter().skip(1);
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--config") => return words.next().map(PathBuf::from),
            Some(word) if word.starts_with("--config=") => return Some(word["--config=".len()..].into()),
            _ => {}
        }
    }
    None
}

/// Returns the option that an error is about, or the one that the option in the error conflicts with, if it was not
/// typed. The flag is `true` if it comes from the file, and `false` if it comes from the environment.
fn untyped_option(
    error: &clap::Error,
    subcommand: &clap::Command,
    (argv, filled): (&[OsString], &[OsString]),
) -> Option<(String, bool)> {
    [ContextKind::InvalidArg, ContextKind::PriorArg].into_iter().find_map(|kind| {
        let ContextValue::String(option) = error.get(kind)? else { return None };
        // clap shows the option with its value (`--set <SET>`) and, if it can be repeated, with dots.
        let key = option.split([' ', '=', '.']).next()?.strip_prefix("--")?;
        let times = |words: &[OsString]| words.iter().filter(|word| long_name(word) == Some(key)).count();
        let is_of_file = times(argv) < times(filled);
        let is_of_environment = || !is_typed(argv, subcommand, key) && env::var_os(variable(key)).is_some();
        (is_of_file || is_of_environment()).then(|| (key.to_owned(), is_of_file))
    })
}

/// Returns the name of a word that is a long option.
fn long_name(word: &OsString) -> Option<&str> {
    word.to_str()?.strip_prefix("--")?.split('=').next()
}

/// Returns `true` if the command line or the environment sets an option. An empty variable sets none.
fn is_set(argv: &[OsString], subcommand: &clap::Command, key: &str) -> bool {
    is_typed(argv, subcommand, key) || env::var_os(variable(key)).is_some_and(|value| !value.is_empty())
}

/// Returns `true` if the command line sets an option.
fn is_typed(argv: &[OsString], subcommand: &clap::Command, key: &str) -> bool {
    let short =
        subcommand.get_arguments().find(|arg| arg.get_long() == Some(key)).and_then(clap::Arg::get_short);
    argv.iter().any(|word| {
        long_name(word) == Some(key)
            || short.zip(word.to_str()).is_some_and(|(short, word)| {
                word.starts_with('-') && !word.starts_with("--") && word[1..].starts_with(short)
            })
    })
}
