//! The proposed configuration of a copy, made from the capabilities of a Source.

use instep_destination::{
    AccessOptions,
    discover::{Node, explore},
    documents::Documents,
};
use instep_net::Client;
use resourcesync::{Capability, Uri};

use super::draft::ConfigDraft;
use crate::{
    args::folders,
    runtime,
    ui::format::{bytes, counted, name, shell_argument},
};

/// The sets, capabilities and size that a Source offers.
#[derive(Debug, Default)]
struct SourceOffers {
    sets: Vec<String>,
    capabilities: Vec<String>,
    resources: u64,
    bytes: u64,
}

/// Returns a configuration for a copy of a Source. `config_option` is the option that names its file, if commands need one.
///
/// Errors: the Source cannot be reached or explored.
pub(super) fn draft(url: &Uri, access: AccessOptions, config_option: &str) -> anyhow::Result<ConfigDraft> {
    let http = access.http_options(url.as_str()).map_err(instep_destination::Error::from)?;
    let spool = tempfile::tempdir()?;
    let client = Client::new(http).map_err(instep_destination::Error::from)?;
    let documents = Documents::new(client, spool.path());
    let root =
        runtime::start()?.block_on(explore(url, &documents)).map_err(instep_destination::Error::from)?;
    let mut offer = SourceOffers::default();
    gather(&root, &mut offer);
    let dir = folders::copy(url.as_str()).display().to_string();
    let command =
        format!("instep sync {} {}{config_option}", shell_argument(url.as_str()), shell_argument(&dir));
    Ok(ConfigDraft {
        kind: "copy",
        text: text(url, &command, &offer),
        before: "Read it",
        next: vec![format!("{command} --dry-run"), command],
    })
}

fn gather(node: &Node, offer: &mut SourceOffers) {
    if let Some(capability) = &node.capability {
        let name = capability.as_str().to_owned();
        match capability {
            Capability::CapabilityList => offer.sets.push(node.uri.to_string()),
            Capability::Description => {}
            _ if offer.capabilities.contains(&name) => {}
            _ => offer.capabilities.push(name),
        }
        if *capability == Capability::ResourceListArchive {
            // Its lists are former states of the same resources.
            return;
        }
        if *capability == Capability::ResourceList {
            offer.resources += node.entries.unwrap_or_default();
            offer.bytes += node.bytes.unwrap_or_default();
            // The entries of an index include those of its members, so the members are not counted again.
            return;
        }
    }
    node.children.iter().for_each(|child| gather(child, offer));
}

fn text(url: &Uri, command: &str, offer: &SourceOffers) -> String {
    let SourceOffers { sets, capabilities, resources, bytes: size } = offer;
    let mut text = format!(
        "# instep: copy {}\n\
         # It offers {}: {}, {}.\n\
         #\n\
         #   {command} --dry-run     see what would be copied\n\
         #   {command}               make or update the copy\n\
         #   {command} --follow      keep it up to date\n\
         #\n\
         # All options: instep sync --help\n\n\
         [sync]\n",
        name(url.as_str()),
        name(&capabilities.join(", ")),
        counted(*resources, "resource"),
        bytes(*size)
    );
    if sets.len() > 1 {
        let sets: Vec<_> = sets.iter().map(|set| format!("{:?}", name(set))).collect();
        text.push_str(&format!(
            "# The Source has {} sets. To copy only some:\n# set = [{}]\n\n",
            sets.len(),
            sets.join(", ")
        ));
    }
    text.push_str(
        "# Delete from the copy what the Source deleted, but never more than this in one run.\n\
         delete = true\n\
         max-delete = \"10%\"\n\n\
         # Paths to copy or to leave out, as in rsync.\n\
         # include = [\"papers/**\"]\n\
         # exclude = [\"*.tmp\"]\n\n\
         # Transfers at the same time, and a limit for all of them in bytes per second.\n\
         transfers = 64\n\
         # bwlimit = \"5MiB\"\n\n\
         # A file with a bearer token, if the Source asks for one.\n\
         # bearer-file = \"/etc/instep/token\"\n\n\
         # Metrics for Prometheus.\n\
         # metrics-file = \"/var/lib/prometheus/node-exporter/instep.prom\"\n",
    );
    text
}
