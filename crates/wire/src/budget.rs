//! The resources that all clients of a server share, and the share of each that one client may
//! hold.
//!
//! A client is its address, and also its user once a signature has proved it. The share is a
//! dynamic threshold (Choudhury and Hahne, 1998): an owner may hold up to a multiple of the free
//! amount. One owner alone can use at most a fixed part of the whole (half, with a multiple of
//! one), a second one half of what remains, and so on. Some is always left for the next.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// A resource with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Open connections.
    Connections,
    /// Requests from their first byte until their answers are written.
    Requests,
    /// Bytes of request bodies in memory.
    BodyBytes,
    /// Bytes of answers in memory.
    AnswerBytes,
}

const RESOURCES: usize = 4;

impl Resource {
    /// All resources, with their names in metrics.
    pub const ALL: [(Resource, &str); RESOURCES] = [
        (Resource::Connections, "connections"),
        (Resource::Requests, "requests"),
        (Resource::BodyBytes, "body_bytes"),
        (Resource::AnswerBytes, "answer_bytes"),
    ];
}

/// A client with an account.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Address(IpAddr),
    /// A trusted proxy, for its connections: they belong to all its clients.
    Proxy(IpAddr),
    /// A user, by name.
    User(String),
    /// All senders together that are not, or not yet, authenticated.
    Unproven,
}

impl Owner {
    /// The owner at an address. An IPv6 network (/64) is one owner, because a host can choose among
    /// its 2⁶⁴ addresses.
    fn at(address: IpAddr) -> Owner {
        const NETWORK: u128 = !0 << 64;
        Owner::Address(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() & NETWORK).into()),
            v4 @ IpAddr::V4(_) => v4,
        })
    }

    /// The multiple of the free amount that it may hold. A user may hold more than an address, so
    /// that one holder of a presigned link cannot use up the share of the user who signed it.
    fn multiple(&self) -> u64 {
        match self {
            Owner::Address(_) | Owner::Unproven => 1,
            Owner::User(_) => 3,
            Owner::Proxy(_) => u64::MAX,
        }
    }
}

/// An amount of each resource.
type Amounts = [AtomicU64; RESOURCES];

/// The resources that all clients of a server share.
#[derive(Debug)]
pub struct Budget {
    limits: [u64; RESOURCES],
    used: Amounts,
    accounts: Mutex<HashMap<Owner, Weak<Account>>>,
}

/// The amounts that one owner holds. It exists as long as they are not zero.
#[derive(Debug)]
struct Account {
    owner: Owner,
    held: Amounts,
    budget: Arc<Budget>,
}

impl Budget {
    /// A budget with a limit for each resource.
    pub fn new(limit: impl Fn(Resource) -> u64) -> Arc<Budget> {
        let limits = [
            limit(Resource::Connections),
            limit(Resource::Requests),
            limit(Resource::BodyBytes),
            limit(Resource::AnswerBytes),
        ];
        let (used, accounts) = (Amounts::default(), Mutex::default());
        Arc::new(Budget { limits, used, accounts })
    }

    /// The amount of a resource in use.
    pub fn used(&self, resource: Resource) -> u64 {
        self.used[resource as usize].load(Ordering::Relaxed)
    }

    /// The total amount of a resource.
    pub fn limit(&self, resource: Resource) -> u64 {
        self.limits[resource as usize]
    }

    fn account(self: &Arc<Budget>, owner: Owner) -> Arc<Account> {
        let mut accounts = self.accounts.lock();
        // A weak reference: an account without holdings disappears, so the map cannot grow with
        // addresses seen.
        if let Some(account) = accounts.get(&owner).and_then(Weak::upgrade) {
            return account;
        }
        let (held, budget) = (Amounts::default(), Arc::clone(self));
        let account = Arc::new(Account { owner: owner.clone(), held, budget });
        accounts.insert(owner, Arc::downgrade(&account));
        account
    }

    /// Takes `amount` of a resource for all of `owners`, or nothing.
    fn take(&self, resource: Resource, owners: &[&Account], amount: u64) -> bool {
        let at = resource as usize;
        let limit = self.limits[at];
        if amount > limit {
            return false;
        }
        // Add, then compare: of two concurrent takers each sees the other's amount, so both cannot
        // get the last room. Both may be refused, which is safe.
        let used = self.used[at].fetch_add(amount, Ordering::Relaxed) + amount;
        let free = limit.saturating_sub(used);
        let mut fits = used <= limit;
        for owner in owners {
            let held = owner.held[at].fetch_add(amount, Ordering::Relaxed) + amount;
            // Plus one, so that an owner without any can take the last place.
            fits &= held <= free.saturating_mul(owner.owner.multiple()).saturating_add(1);
        }
        if !fits {
            self.give_back(resource, owners, amount);
        }
        fits
    }

    fn give_back(&self, resource: Resource, owners: &[&Account], amount: u64) {
        let at = resource as usize;
        self.used[at].fetch_sub(amount, Ordering::Relaxed);
        for owner in owners {
            owner.held[at].fetch_sub(amount, Ordering::Relaxed);
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let mut accounts = self.budget.accounts.lock();
        // A new account may have been created since the last reference to this one was dropped.
        if accounts.get(&self.owner).is_some_and(|account| account.strong_count() == 0) {
            accounts.remove(&self.owner);
        }
    }
}

/// The place of a connection, released when dropped.
#[derive(Debug)]
pub struct Seat {
    owner: Arc<Account>,
    client: Client,
}

impl Seat {
    /// A place for a connection from an address; `None` if there are too many.
    pub fn take(budget: &Arc<Budget>, address: IpAddr) -> Option<Seat> {
        let client = Client::at(budget, address);
        Seat::of(Arc::clone(&client.0), client)
    }

    /// A place for a connection from a trusted proxy, which may use all of them.
    pub(crate) fn take_for_proxy(budget: &Arc<Budget>, address: IpAddr) -> Option<Seat> {
        let owner = budget.account(Owner::Proxy(address.to_canonical()));
        Seat::of(owner, Client::at(budget, address))
    }

    fn of(owner: Arc<Account>, client: Client) -> Option<Seat> {
        let is_taken = owner.budget.take(Resource::Connections, &[&owner], 1);
        is_taken.then(|| Seat { owner, client })
    }

    /// The number of open connections, this one included.
    pub fn connections(&self) -> u64 {
        self.owner.budget.used(Resource::Connections)
    }

    /// The client at the other end.
    pub fn client(&self) -> &Client {
        &self.client
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.owner.budget.give_back(Resource::Connections, &[&self.owner], 1);
    }
}

/// The client that a request is charged to: the other end of the connection, or a client of the
/// proxy there.
#[derive(Clone, Debug)]
pub struct Client(Arc<Account>);

impl Client {
    /// The client at an address.
    pub fn at(budget: &Arc<Budget>, address: IpAddr) -> Client {
        Client(budget.account(Owner::at(address)))
    }

    /// A place for a request; `None` if there are too many.
    pub fn place(&self) -> Option<Place> {
        let is_taken = self.0.budget.take(Resource::Requests, &[&self.0], 1);
        is_taken.then(|| Place(self.clone()))
    }

    /// An empty charge to this client, and to the user; unauthenticated senders share one account.
    pub(crate) fn charge(&self, resource: Resource, user: Option<&str>) -> Charge {
        let address = Arc::clone(&self.0);
        let owner = user.map_or(Owner::Unproven, |name| Owner::User(name.to_owned()));
        // Bodies and answers count against two owners: the address and the user.
        let sender = address.budget.account(owner);
        Charge { resource, address, sender, amount: 0 }
    }
}

/// The place of a request at work, released when dropped.
#[derive(Debug)]
pub struct Place(Client);

impl Place {
    /// `true` if it is a place of this client.
    pub fn is_of(&self, client: &Client) -> bool {
        Arc::ptr_eq(&self.0.0, &client.0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.budget.give_back(Resource::Requests, &[&self.0.0], 1);
    }
}

/// An amount of a resource held by one request, released when dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    resource: Resource,
    address: Arc<Account>,
    sender: Arc<Account>,
    amount: u64,
}

impl Charge {
    /// Grows to `amount` in total. `false` if there is no room; then nothing changes.
    pub(crate) fn grow_to(&mut self, amount: u64) -> bool {
        let more = amount.saturating_sub(self.amount);
        let grown = more == 0
            || self.address.budget.take(self.resource, &[&self.address, &self.sender], more);
        if grown {
            self.amount = self.amount.max(amount);
        }
        grown
    }

    /// The charged amount.
    pub(crate) fn amount(&self) -> u64 {
        self.amount
    }

    /// A charge of `amount` to the same owners; `None` if there is no room.
    pub(crate) fn another(&self, amount: u64) -> Option<Charge> {
        let (address, sender) = (Arc::clone(&self.address), Arc::clone(&self.sender));
        let mut other = Charge { resource: self.resource, address, sender, amount: 0 };
        other.grow_to(amount).then_some(other)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let owners = [&*self.address, &*self.sender];
        self.address.budget.give_back(self.resource, &owners, self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(limit: u64) -> Arc<Budget> {
        Budget::new(|_| limit)
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn seat(budget: &Arc<Budget>, last: u8) -> Seat {
        Seat::take(budget, address(last)).expect("a place")
    }

    /// Grows until the budget is exhausted.
    fn all_of(charge: &mut Charge) -> u64 {
        while charge.grow_to(charge.amount + 1) {}
        charge.amount
    }

    #[test]
    fn one_address_gets_half_and_the_next_half_of_the_rest() {
        let budget = budget(1000);
        let seats: Vec<Seat> = (0..3).map(|last| seat(&budget, last)).collect();
        let mut held: Vec<Charge> =
            seats.iter().map(|seat| seat.client().charge(BYTES, None)).collect();
        assert_eq!(all_of(&mut held[0]), 500);
        // Both together have the share of all unauthenticated senders.
        assert!(!held[1].grow_to(1));
        let mut user: Vec<Charge> =
            seats.iter().map(|seat| seat.client().charge(BYTES, Some("user"))).collect();
        assert_eq!(all_of(&mut user[0]), 0, "the address has its part");
        assert_eq!(all_of(&mut user[1]), 250);
        assert_eq!(all_of(&mut user[2]), 125);
        held.clear();
        assert!(user[0].grow_to(300), "free again at once");
    }

    #[test]
    fn a_user_gets_more_than_an_address_and_less_than_all() {
        let budget = budget(1000);
        let seats: Vec<Seat> = (0..200).map(|last| seat(&budget, last)).collect();
        let mut all: Vec<Charge> =
            seats.iter().map(|seat| seat.client().charge(BYTES, Some("user"))).collect();
        assert_eq!(all.iter_mut().map(all_of).sum::<u64>(), 750);
        let mut other = seats[199].client().charge(BYTES, Some("other"));
        assert!(other.grow_to(100));
    }

    #[test]
    fn a_charge_that_does_not_fit_takes_nothing() {
        let budget = budget(100);
        let seat = seat(&budget, 1);
        let mut charge = seat.client().charge(BYTES, Some("user"));
        assert!(charge.grow_to(40) && charge.grow_to(10) && !charge.grow_to(101));
        assert!(!charge.grow_to(u64::MAX));
        assert_eq!(charge.amount, 40);
        assert!(charge.another(11).is_none() && charge.another(10).is_some());
        assert_eq!(budget.used[BYTES as usize].load(Ordering::Relaxed), 40);
        drop(charge);
        assert_eq!(budget.used[BYTES as usize].load(Ordering::Relaxed), 0);
    }

    #[test]
    fn connections_and_requests_have_places_of_their_own() {
        let budget = budget(3);
        let (first, second) = (seat(&budget, 1), seat(&budget, 1));
        assert!(Seat::take(&budget, address(1)).is_none(), "the last place is for another");
        let third = seat(&budget, 2);
        assert!(Seat::take(&budget, address(3)).is_none());
        let place = |seat: &Seat| seat.client().place();
        let (one, two) = (place(&first), place(&second));
        assert!(one.is_some() && two.is_some() && place(&first).is_none());
        let of_third = place(&third);
        assert!(of_third.is_some());
        drop(one);
        assert!(place(&third).is_none(), "one of two that are free would be left for the next");
        drop(two);
        assert!(place(&third).is_some());
        drop((first, second));
        drop(seat(&budget, 2));
    }

    #[test]
    fn a_proxy_may_have_all_connections_and_its_clients_their_part_of_requests() {
        let budget = budget(4);
        let seat = || Seat::take_for_proxy(&budget, address(1));
        let seats: Vec<Seat> = std::iter::from_fn(seat).collect();
        assert_eq!(seats.len(), 3, "the last place is for another");
        let client = Client::at(&budget, address(9));
        let places: Vec<Place> = std::iter::from_fn(|| client.place()).collect();
        assert_eq!(places.len(), 2);
        assert!(Client::at(&budget, address(8)).place().is_some());
        assert!(places[0].is_of(&client) && !places[0].is_of(seats[0].client()));
    }

    #[test]
    fn accounts_are_dropped_with_what_they_hold() {
        let budget = budget(3);
        let seat = seat(&budget, 1);
        let charge = seat.client().charge(BYTES, Some("user"));
        assert_eq!(budget.accounts.lock().len(), 2);
        drop(seat);
        assert_eq!(budget.accounts.lock().len(), 2);
        drop(charge);
        assert!(budget.accounts.lock().is_empty());
    }

    #[test]
    fn a_network_is_one_owner() {
        let owner = |text: &str| Owner::at(text.parse().expect("an address"));
        assert_eq!(owner("2001:db8::1"), owner("2001:db8::ffff:0:0:2"));
        assert_ne!(owner("2001:db8::1"), owner("2001:db8:0:1::1"));
        assert_eq!(owner("::ffff:192.0.2.1"), owner("192.0.2.1"));
        assert_ne!(owner("192.0.2.2"), owner("192.0.2.1"));
    }

    const BYTES: Resource = Resource::BodyBytes;
}
