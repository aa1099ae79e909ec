//! Turns keys of `instep.toml` into words of the command line.

use std::ffi::OsString;

use anyhow::bail;
use clap::Arg;
use toml::Value;

/// Returns the words of an option and its value.
///
/// Errors: the value has the wrong kind; the message says what to write.
pub(super) fn as_words(argument: &Arg, value: &Value) -> anyhow::Result<Vec<OsString>> {
    let key = argument.get_long().unwrap_or_default();
    let takes_value = argument.get_action().takes_values();
    match value {
        Value::Boolean(true) if !takes_value => Ok(vec![format!("--{key}").into()]),
        Value::Boolean(false) if !takes_value => Ok(Vec::new()),
        _ if !takes_value => bail!("write true or false, without quotes"),
        Value::Boolean(_) => bail!("write a value, in quotes if it is not a number; not true or false"),
        Value::Array(values) => values.iter().map(|value| one(key, value)).collect(),
        value => Ok(vec![one(key, value)?]),
    }
}

fn one(key: &str, value: &Value) -> anyhow::Result<OsString> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Integer(_) | Value::Float(_) | Value::Datetime(_) => value.to_string(),
        _ => bail!("write a string, a number, true or false, or an array of strings or numbers"),
    };
    Ok(format!("--{key}={text}").into())
}
