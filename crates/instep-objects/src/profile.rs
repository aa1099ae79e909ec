//! Settings in the files that AWS tools share: `~/.aws/credentials` and `~/.aws/config`.

use std::{collections::BTreeMap, env, fs, path::PathBuf};

use object_store::aws::AmazonS3ConfigKey;

/// The settings of a file that correspond to variables of the environment, with those variables.
const SETTINGS: [(&str, &[&str], AmazonS3ConfigKey); 5] = [
    ("aws_access_key_id", CREDENTIALS, AmazonS3ConfigKey::AccessKeyId),
    ("aws_secret_access_key", CREDENTIALS, AmazonS3ConfigKey::SecretAccessKey),
    ("aws_session_token", CREDENTIALS, AmazonS3ConfigKey::Token),
    ("region", &["AWS_REGION", "AWS_DEFAULT_REGION"], AmazonS3ConfigKey::Region),
    (
        "endpoint_url",
        &["AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3"],
        AmazonS3ConfigKey::Endpoint,
    ),
];

/// All credentials come from one place: a key from the environment is not combined with a secret from a file.
const CREDENTIALS: &[&str] = &["AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"];

/// Returns the settings of the files that the environment does not have.
pub(crate) fn settings() -> Vec<(AmazonS3ConfigKey, String)> {
    let profile = env::var("AWS_PROFILE").unwrap_or_else(|_| "default".to_owned());
    let mut found = BTreeMap::new();
    // The file of credentials comes last: it takes precedence for settings that both files have.
    for (variable, name) in [("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")] {
        let in_home = || Some(PathBuf::from(env::var_os("HOME")?).join(".aws").join(name));
        let file = env::var_os(variable).map(PathBuf::from).or_else(in_home);
        if let Some(text) = file.and_then(|file| fs::read_to_string(file).ok()) {
            found.extend(section(&text, &profile));
        }
    }
    let is_set = |variables: &[&str]| variables.iter().any(|variable| env::var_os(variable).is_some());
    let missing = SETTINGS.into_iter().filter(|(_, variables, _)| !is_set(variables));
    missing.filter_map(|(name, _, key)| Some((key, found.remove(name)?))).collect()
}

/// Returns the settings of a profile: lines of the section of its name, which `config` writes as `[profile name]`.
fn section(text: &str, profile: &str) -> BTreeMap<String, String> {
    let mut is_ours = false;
    let mut found = BTreeMap::new();
    for line in text.lines() {
        if let Some(name) = line.trim().strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let name = name.trim();
            is_ours = name.strip_prefix("profile ").map_or(name, str::trim) == profile;
        } else if let Some((name, value)) = line.split_once('=')
            && is_ours
            && !line.starts_with(['#', ';', ' ', '\t'])
        {
            found.insert(name.trim().to_owned(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn a_profile_is_the_section_of_its_name() {
        let text = "# comment\n[default]\nregion = eu-west-1\n[profile other]\nregion=us-east-1\ns3 =\n  region = no\n\
                    [third]\naws_access_key_id = AKID\n";
        assert_eq!(section(text, "default")["region"], "eu-west-1");
        assert_eq!(section(text, "other")["region"], "us-east-1");
        assert_eq!(section(text, "third")["aws_access_key_id"], "AKID");
        assert!(section(text, "fourth").is_empty());
    }
}
