//! Harvests a repository into a folder, without publishing it: `harvest oai+https://repo.example.org/oai DIR`.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::{env, error::Error, ops::ControlFlow};

use instep_net::{HttpOptions, Scope};
use instep_oai::{HarvestOptions, HarvestedRepository, RepositoryUrl};
use instep_source::{NoMonitor, Supplier as _};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(url), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("give the URL of a repository and a folder".into());
    };
    let url = RepositoryUrl::parse(&url)?;
    let http = HttpOptions::new(Scope::for_source(&url.base)?);
    let repository = HarvestedRepository::new(url, folder, HarvestOptions::default(), http)?;
    let left_out = repository.refresh(&NoMonitor, &|| false)?;
    let mut held = 0_u64;
    repository.each(&mut |_| {
        held += 1;
        ControlFlow::Continue(())
    })?;
    println!("{held} resources, {left_out} left out");
    Ok(())
}
