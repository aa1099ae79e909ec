//! Transfers of simulated workers, and the seats that they need for them. A transfer ends within some seconds after
//! it has begun, even if its worker dies.

use super::{
    rows::Rows,
    simulation::{Answer, END, FAULTS_UNTIL, Simulation, Worker},
    *,
};

pub(super) const HOSTS: usize = 2;

/// The limit of transfers at a host.
const LIMIT: u64 = 3;

/// A transfer takes less than this: the time between the last request of a worker and its removal.
const LONGEST: u64 = 5_000;

/// From here on every worker wants more than each host has; after that, no worker wants anything.
const GREEDY: u64 = FAULTS_UNTIL + 25_000;
const GREEDY_UNTIL: u64 = END - 20_000;

/// A host as one worker uses it.
#[derive(Default)]
pub(super) struct SimulatedHost {
    pub(super) granted: u64,
    /// The ends of the transfers under way.
    ends: Vec<u64>,
    /// The transfers that the worker would like to have under way.
    wish: u64,
    /// The most that it would have liked to have since it said so last.
    most: u64,
    /// Transfers that began while all workers wanted some.
    turns: u64,
}

impl SimulatedHost {
    fn used(&self) -> u64 {
        self.ends.len() as u64
    }

    fn kept(&self) -> u64 {
        self.granted.max(self.used())
    }
}

impl Rows {
    /// A claim of seats, as its statements do it; `None` if the worker was removed.
    fn ask_lane(&mut self, worker: WorkerId, host: usize, request: LaneRequest) -> Option<LaneAnswer> {
        self.beats.get(&worker)?;
        let lane = &mut self.lanes[host];
        let answer = answer(worker, LIMIT, request, lane);
        lane.retain(|seat| seat.worker != worker);
        lane.push(answer.seat);
        Some(answer)
    }

    fn leave_lane(&mut self, worker: WorkerId, host: usize) {
        self.lanes[host].retain(|seat| seat.worker != worker);
    }

    fn lanes_of(&self, worker: WorkerId) -> BTreeMap<usize, Vec<LaneSeat>> {
        let is_in = |lane: &Vec<LaneSeat>| lane.iter().any(|seat| seat.worker == worker);
        self.lanes.iter().cloned().enumerate().filter(|(_, lane)| is_in(lane)).collect()
    }
}

impl Simulation {
    pub(super) fn end_transfers(&mut self) {
        let hosts = self.workers.iter_mut().flat_map(|worker| &mut worker.hosts);
        hosts.for_each(|host| host.ends.retain(|end| *end > self.at));
    }

    /// Begins transfers for as many seats as the worker has.
    pub(super) fn transfer(&mut self, place: usize) {
        for number in 0..HOSTS {
            let changes = self.dice.one_in(12);
            let wish = self.dice.below(7).saturating_sub(2);
            let host = &mut self.workers[place].hosts[number];
            let is_greedy = (GREEDY..GREEDY_UNTIL).contains(&self.at);
            match self.at {
                _ if is_greedy => host.wish = LIMIT + 1,
                at if at >= GREEDY_UNTIL => host.wish = 0,
                _ if changes => host.wish = wish,
                _ => {}
            }
            host.most = host.most.max(host.wish).max(host.used());
            while self.workers[place].hosts[number].used()
                < self.workers[place].hosts[number].granted.min(self.workers[place].hosts[number].wish)
            {
                let end = self.at + 1 + self.dice.below(LONGEST);
                let host = &mut self.workers[place].hosts[number];
                host.ends.push(end);
                host.turns += u64::from(is_greedy);
            }
            let all: u64 = self.workers.iter().map(|worker| worker.hosts[number].used()).sum();
            assert!(all <= LIMIT, "at {} host {number} has {all} transfers", self.at);
        }
    }

    /// Does what a worker does for its seats, in the order in which it does it.
    pub(super) fn seat(&mut self, place: usize, me: WorkerId, now: Duration) {
        if !self.workers[place].lanes.is_empty() && self.workers[place].lanes.is_to_look(now) {
            let Answer::Given(rows) = self.ask(|rows| rows.lanes_of(me)) else { return };
            let (fewer, unknown) = self.workers[place].lanes.seen(now, &rows);
            fewer.iter().for_each(|host| self.grant(place, *host));
            for host in unknown {
                self.leave(place, me, host);
            }
        }
        let Worker { lanes, hosts, .. } = &mut self.workers[place];
        let demand = |host: &mut SimulatedHost| LaneDemand {
            wanted: std::mem::take(&mut host.most).max(host.used()),
            kept: host.kept(),
        };
        let demands = hosts.iter_mut().map(demand).enumerate().collect();
        lanes.note(now, LIMIT, &demands);
        for step in self.workers[place].lanes.steps(now) {
            match step {
                LaneStep::Ask(host, wanted) => {
                    let request = LaneRequest { kept: self.workers[place].hosts[host].kept(), wanted };
                    match self.ask(|rows| rows.ask_lane(me, host, request)) {
                        Answer::Given(Some(answer)) => {
                            self.workers[place].lanes.answered(&host, answer);
                            self.grant(place, host);
                        }
                        Answer::Given(None) => {}
                        Answer::Lost => self.workers[place].lanes.lost(&host),
                    }
                }
                LaneStep::Leave(host) => {
                    self.workers[place].lanes.close(&host);
                    self.grant(place, host);
                    match self.workers[place].hosts[host].used() {
                        0 => self.leave(place, me, host),
                        used => self.workers[place].lanes.stay(&host, used),
                    }
                }
                LaneStep::BeginPause(..) | LaneStep::EndPause(..) => {}
            }
        }
    }

    fn grant(&mut self, place: usize, host: usize) {
        let Worker { lanes, hosts, .. } = &mut self.workers[place];
        hosts[host].granted = lanes.granted(&host);
    }

    fn leave(&mut self, place: usize, me: WorkerId, host: usize) {
        if matches!(self.ask(|rows| rows.leave_lane(me, host)), Answer::Given(())) {
            self.workers[place].lanes.left(&host);
        }
    }

    /// Returns the workers that got nothing of a host while all wanted some, by their places.
    pub(super) fn starved(&self) -> Vec<usize> {
        let live = self.workers.iter().enumerate().filter(|(_, worker)| !worker.is_dead);
        let starved = live.filter(|(_, worker)| worker.hosts.iter().any(|host| host.turns < 2));
        starved.map(|(place, _)| place).collect()
    }
}
