//! The proposed configuration of a Source, made from the content of its folder.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::BufReader,
    net::{IpAddr, SocketAddr},
    path::Path,
};

use anyhow::{Context, bail};
use resourcesync::{DocumentReader, ReadOptions};

use super::draft::ConfigDraft;
use crate::{
    args::folders,
    ui::format::{bytes, counted, shell_argument},
};

/// The address of a server, unless the base URL of what was published names another one of this machine.
const LISTEN: &str = "127.0.0.1:8080";

/// The most files that are examined; a larger folder is described by these.
const MOST_FILES: u64 = 200_000;

/// The largest content, in bytes, for which a Resource Dump is proposed. `serve` has the same limit by default.
const SMALL: u64 = 1 << 30;

/// Names of folders and endings of files that are often not meant for readers.
const DOUBTFUL: [&str; 8] = ["drafts", "tmp", "cache", "node_modules", "*.tmp", "*.bak", "*.part", "*.log"];

/// The properties of a folder that its configuration depends on.
#[derive(Debug, Default)]
struct FolderSurvey {
    files: u64,
    bytes: u64,
    /// Files that not everybody may read.
    private: u64,
    /// The number of names that match each pattern of [`DOUBTFUL`].
    doubtful: BTreeMap<&'static str, u64>,
}

/// Returns a configuration for a folder. `config_option` is the option that names its file, if commands need one.
///
/// Errors: the folder cannot be read.
pub(super) fn draft(folder: &Path, config_option: &str) -> anyhow::Result<ConfigDraft> {
    if !folder.is_dir() {
        bail!(
            "{} is not a folder; give a folder to publish or the URL of a Source to copy",
            folder.display()
        );
    }
    let contents = look(folder)?;
    // Escaped as for a shell: a name may have blanks or quotes, and a line break would end the comment in the file.
    let shown = shell_argument(&folder.display().to_string());
    let mut text = head_lines(&contents, &shown, config_option);
    let base = published_at(folder)?;
    // With the URL of the example, readers would know the resources by names that nobody answers.
    let before = if base.is_some() { "Read it" } else { "Set base-url in it" };
    // At another address the documents would name URLs that nobody answers.
    let listen = base.as_deref().and_then(own_address).unwrap_or_else(|| LISTEN.to_owned());
    text.push_str(&base_url_lines(base.as_deref(), &shown));
    text.push_str(
        "# Digests by which readers verify what they copy.\n\
         hash = [\"sha-256\"]\n\n",
    );
    text.push_str(
        "# Paths to leave out, as in rsync. Hidden files and editor backups are left out anyway.\n",
    );
    text.push_str(&exclude_lines(&contents.doubtful));
    if contents.private > 0 {
        let private = counted(contents.private, "file");
        text.push_str(&format!("# {private} cannot be read by everybody and will not be published.\n\n"));
    }
    text.push_str(&dump_lines(contents.bytes));
    text.push_str(&server_lines(&listen));
    let next = vec![
        format!("instep publish {shown}{config_option} --dry-run"),
        format!("instep serve {shown}{config_option}"),
    ];
    Ok(ConfigDraft { kind: "source", text, before, next })
}

/// Returns the first lines, with the commands that use the file.
fn head_lines(contents: &FolderSurvey, shown: &str, config_option: &str) -> String {
    let more = if contents.files >= MOST_FILES { " or more" } else { "" };
    let size = format!("{}{more}, {}", counted(contents.files, "file"), bytes(contents.bytes));
    format!(
        "# instep: publish {shown} ({size})\n\
         #\n\
         #   instep publish {shown}{config_option} --dry-run     see what would be published\n\
         #   instep publish {shown}{config_option}               write documents beside the files, for any web server\n\
         #   instep serve {shown}{config_option}                 publish and serve, and notice changes at once\n\
         #\n\
         # All options: instep publish --help, instep serve --help\n\n\
         [publish]\n"
    )
}

/// Returns the lines of the dumps for a content of a size in bytes.
fn dump_lines(size: u64) -> String {
    let dump = if size <= SMALL { "dump" } else { "# dump" };
    format!(
        "# A Resource Dump packs all resources, so that a first copy needs few requests. It takes {} here.\n\
         {dump} = \"always\"\n\n\
         # A Change Dump packs changed resources; past states are kept for it.\n\
         # change-dump = true\n\n",
        bytes(size)
    )
}

/// Returns the lines of the server at an address.
fn server_lines(listen: &str) -> String {
    format!(
        "[serve]\n\
         # Address and port of the server.\n\
         listen = \"{listen}\"\n\n\
         # Certificate and key, read again on SIGHUP.\n\
         # tls-cert = \"/etc/ssl/example.org/chain.pem\"\n\
         # tls-key = \"/etc/ssl/example.org/key.pem\"\n"
    )
}

/// Returns the lines of the base URL: that of an earlier publication, or an example.
fn base_url_lines(published: Option<&str>, shown: &str) -> String {
    match published {
        Some(base) => format!(
            "# The URL at which the folder was published. To move it: instep publish {shown} --rebase {base} NEW\n\
             base-url = {base:?}\n\n"
        ),
        None => "# The URL at which the folder is served. Set it before the first publication: readers know resources by it.\n\
             # To try the server on this machine first, leave the line out: then it is http://127.0.0.1:8080/.\n\
             base-url = \"https://example.org/\"\n\n"
            .to_owned(),
    }
}

/// Returns the lines of the patterns to leave out: those of doubtful names that were found, or an example.
fn exclude_lines(doubtful: &BTreeMap<&'static str, u64>) -> String {
    if doubtful.is_empty() {
        return "# exclude = [\"drafts/**\", \"*.tmp\"]\n\n".to_owned();
    }
    let patterns: Vec<_> = doubtful.keys().map(|pattern| format!("\"{pattern}\"")).collect();
    let numbers: Vec<_> = doubtful.iter().map(|(pattern, number)| format!("{pattern}: {number}")).collect();
    format!("# Found here: {}.\nexclude = [{}]\n\n", numbers.join(", "), patterns.join(", "))
}

/// Returns the base URL at which a folder was published, from its catalogue or else from the documents in it; `None` if
/// it was not published.
fn published_at(folder: &Path) -> anyhow::Result<Option<String>> {
    if let Some(base) = instep_source::published_base_url(&folders::state(folder, None))? {
        return Ok(Some(base));
    }
    let documents = [".well-known/resourcesync", "resourcesync/capabilitylist.xml"];
    Ok(documents.iter().find_map(|document| base_in(&folder.join(document))))
}

/// Returns the address and port in a base URL; `None` if they are not of this machine, or the URL has no port.
fn own_address(base: &str) -> Option<String> {
    let authority = base.strip_prefix("http://")?.split('/').next()?;
    let (host, port) = authority.rsplit_once(':')?;
    let host = if host == "localhost" { "127.0.0.1" } else { host.trim_matches(['[', ']']) };
    let address: IpAddr = host.parse().ok()?;
    let port: u16 = port.parse().ok()?;
    address.is_loopback().then(|| SocketAddr::new(address, port).to_string())
}

/// Returns the base URL of a Source from the URIs of documents that one of its documents names; `None` if it names
/// none.
fn base_in(document: &Path) -> Option<String> {
    let document = BufReader::new(File::open(document).ok()?);
    let mut reader = DocumentReader::new(document, ReadOptions::new()).ok()?;
    let locations = reader.entries().map_while(Result::ok).map(|entry| entry.loc);
    locations.filter_map(|loc| Some(format!("{}/", loc.as_str().rsplit_once("/resourcesync/")?.0))).next()
}

fn look(folder: &Path) -> anyhow::Result<FolderSurvey> {
    let mut contents = FolderSurvey::default();
    let mut folders = vec![folder.to_owned()];
    // Documents of an earlier publication are not content of the Source.
    let published = folder.join("resourcesync").join("capabilitylist.xml").is_file();
    let documents = published.then(|| folder.join("resourcesync"));
    while let Some(folder) = folders.pop() {
        let items = fs::read_dir(&folder).with_context(|| format!("Cannot read {}", folder.display()))?;
        for item in items {
            let item = item?;
            let name = item.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || contents.files >= MOST_FILES {
                continue;
            }
            if let Some(pattern) = doubtful(&name) {
                *contents.doubtful.entry(pattern).or_default() += 1;
            }
            let metadata = item.metadata()?;
            if metadata.is_dir() {
                folders.extend(Some(item.path()).filter(|path| documents.as_ref() != Some(path)));
            } else if metadata.is_file() {
                contents.files += 1;
                contents.bytes += metadata.len();
                contents.private += u64::from(!is_public(&metadata));
            }
        }
    }
    Ok(contents)
}

fn doubtful(name: &str) -> Option<&'static str> {
    DOUBTFUL.into_iter().find(|pattern| match pattern.strip_prefix('*') {
        Some(ending) => name.ends_with(ending),
        None => name == *pattern,
    })
}

fn is_public(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o004 != 0
}
