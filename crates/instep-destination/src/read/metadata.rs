//! The selection of resources by their metadata records, which are fetched before the resources (§14.5). The condition
//! itself is in `plan/condition.rs`.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream};
use instep_net::{Client, HttpError, Origin, Request};
use resourcesync::Uri;

use crate::{
    Error, ProblemKind,
    error::{BesideUrl as _, error_chain},
    plan::{Condition, Retrieval},
    run::{SetRun, SyncRun},
    state::{Action, Owed},
};

/// The most bytes of a record.
const RECORD_BYTES: usize = 4 << 20;
/// The number of rows of the plan that are read at a time.
const PAGE: usize = 500;
/// The number of records that are requested at a time. The client limits the requests to one host.
const AT_A_TIME: usize = 16;
/// The number of records whose result is remembered, because one record often describes many resources.
const REMEMBERED: usize = 10_000;

/// The result of the condition for each metadata record, by its URI.
#[derive(Default)]
struct Verdicts(BTreeMap<String, bool>);

impl SyncRun<'_> {
    /// Removes the resources from a plan whose record does not meet the condition. If a record could not be fetched,
    /// its resource becomes pending.
    pub(crate) async fn choose_by_metadata(&mut self, set: &SetRun) -> Result<(), Error> {
        let Some(condition) = self.policy.condition.clone() else { return Ok(()) };
        let (mut after, mut verdicts) = (0, Verdicts::default());
        loop {
            let page = set.with(|draft| draft.actions().after(after, PAGE))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            let chosen = page.into_iter().filter(|action| action.kind.asks());
            self.choose(set, chosen.collect(), &condition, &mut verdicts).await?;
        }
    }

    async fn choose(
        &mut self,
        set: &SetRun,
        actions: Vec<Action>,
        condition: &Condition,
        verdicts: &mut Verdicts,
    ) -> Result<(), Error> {
        let client = self.network.client.clone();
        let asked = actions.into_iter().map(|action| {
            let (client, record) = (client.clone(), record_of(&action));
            let known = record.as_ref().and_then(|record| verdicts.0.get(record.as_str()).copied());
            async move {
                let verdict = match (&record, known) {
                    (None, _) => Ok(false),
                    (Some(_), Some(known)) => Ok(known),
                    (Some(record), None) => ask(&client, record, &action, condition).await,
                };
                (action, record, verdict)
            }
        });
        let answers = stream::iter(asked.collect::<Vec<_>>()).buffered(AT_A_TIME).collect::<Vec<_>>();
        let answers = self.stop.unless(answers).await.ok_or(Error::Interrupted)?;
        for (Action { desired, .. }, record, verdict) in answers {
            let uri = desired.uri.as_str().to_owned();
            match (verdict, record) {
                (Ok(holds), record) => {
                    if !holds {
                        set.with(|draft| draft.exclude(&uri))?;
                    }
                    if let Some(record) = record.filter(|_| verdicts.0.len() < REMEMBERED) {
                        verdicts.0.insert(record.into_string(), holds);
                    }
                }
                (Err(error), record) => {
                    let shown = record.as_ref().map_or(&*uri, Uri::as_str);
                    let what = format!("the metadata record is missing: {}", error.beside(shown));
                    self.reporter.problem(ProblemKind::Unreachable, shown, &what);
                    let what = format!("its metadata record is missing: {}", error_chain(&error));
                    set.with(|draft| draft.owe(&uri, Owed::new(desired, what)))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the record that describes a resource. A record describes itself.
fn record_of(action: &Action) -> Option<Uri> {
    let Retrieval { describedby, describes, .. } = action.desired.retrieval();
    match describedby {
        Some(href) => Uri::parse(href).ok(),
        None => describes.then(|| action.desired.uri.clone()),
    }
}

async fn ask(
    client: &Client,
    record: &Uri,
    action: &Action,
    condition: &Condition,
) -> Result<bool, HttpError> {
    let mut request = Request::get(record.clone());
    request.speaker = Origin::parse(action.desired.uri.as_str()).ok();
    let mut response = client.send(&request).await?.successful()?;
    let Some(read) = response.body.read_up_to(RECORD_BYTES).await? else {
        let (uri, source) =
            (record.as_str().to_owned(), format!("it has more than {RECORD_BYTES} bytes").into());
        return Err(HttpError::Transfer { uri, source });
    };
    Ok(condition.holds(&read))
}
