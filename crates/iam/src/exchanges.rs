//! [`Exchanges`]: the number of codes that are exchanged at the same time.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Number of codes that are exchanged at the same time: anybody may send one.
const EXCHANGES_MAX: usize = 16;
/// Number of those from one address, so that no single one takes all.
const OF_ADDRESS_MAX: usize = 4;
const _: () = assert!(OF_ADDRESS_MAX < EXCHANGES_MAX);
/// Time that an exchange waits for others to end. A person waits that long for a page.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// The exchanges that are under way.
pub(super) struct Exchanges {
    all: Arc<Semaphore>,
    /// Those of each address, while it has or awaits any.
    of_addresses: Arc<Mutex<HashMap<IpAddr, Arc<Semaphore>>>>,
}

/// The permission for one exchange, until it is dropped.
pub(super) struct Permit {
    _all: OwnedSemaphorePermit,
    _place: Place,
}

/// The place of an exchange among those of its address.
struct Place {
    address: IpAddr,
    permit: Option<OwnedSemaphorePermit>,
    /// `None` once it is given back.
    own: Option<Arc<Semaphore>>,
    of_addresses: Arc<Mutex<HashMap<IpAddr, Arc<Semaphore>>>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.permit = None;
        let mut of_addresses = self.of_addresses.lock();
        self.own = None;
        let is_last = |own: &Arc<Semaphore>| Arc::strong_count(own) == 1;
        if of_addresses.get(&self.address).is_some_and(is_last) {
            of_addresses.remove(&self.address);
        }
    }
}

impl Exchanges {
    pub(super) fn new() -> Exchanges {
        let all = Arc::new(Semaphore::new(EXCHANGES_MAX));
        Exchanges { all, of_addresses: Arc::default() }
    }

    /// Waits for the permission of an exchange for this address; `None` if too many others are
    /// under way.
    pub(super) async fn begin(&self, address: IpAddr) -> Option<Permit> {
        timeout(WAIT_MAX, self.wait(network(address))).await.ok().flatten()
    }

    /// First the place among those of the address: who waits there is in nobody's way.
    async fn wait(&self, address: IpAddr) -> Option<Permit> {
        let own = {
            let mut of_addresses = self.of_addresses.lock();
            let own = of_addresses.entry(address);
            Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(OF_ADDRESS_MAX))))
        };
        let of_addresses = Arc::clone(&self.of_addresses);
        let mut place = Place { address, permit: None, own: Some(Arc::clone(&own)), of_addresses };
        place.permit = Some(own.acquire_owned().await.ok()?);
        let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Permit { _all: all, _place: place })
    }
}

/// The address of a sender. IPv6 hosts choose the lower half of theirs.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let upper = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(upper))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// The permission for an exchange that need not wait.
    fn at_once(exchanges: &Exchanges, address: &str) -> Option<Permit> {
        let waiting = pin!(exchanges.wait(network(address.parse().expect("an address"))));
        match waiting.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => permit,
            Poll::Pending => None,
        }
    }

    #[test]
    fn an_address_leaves_exchanges_to_others_and_is_forgotten_afterwards() {
        let exchanges = Exchanges::new();
        let of_one: Vec<_> =
            (0..OF_ADDRESS_MAX).map(|_| at_once(&exchanges, "2001:db8::1")).collect();
        assert!(of_one.iter().all(Option::is_some));
        assert!(at_once(&exchanges, "2001:db8::2").is_none(), "of the same network");
        let other = at_once(&exchanges, "2001:db8:0:1::1");
        assert!(other.is_some());
        assert_eq!(exchanges.of_addresses.lock().len(), 2);
        drop((of_one, other));
        assert!(exchanges.of_addresses.lock().is_empty());
        assert_eq!(exchanges.all.available_permits(), EXCHANGES_MAX);
    }

    #[test]
    fn an_exchange_waits_for_another_one_to_end() {
        let exchanges = Exchanges::new();
        let mut held: Vec<_> = (0..EXCHANGES_MAX)
            .map(|number| at_once(&exchanges, &format!("192.0.2.{number}")))
            .collect();
        assert!(held.iter().all(Option::is_some));
        let mut waiting = pin!(exchanges.wait(IpAddr::from([198, 51, 100, 1])));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        held.pop();
        assert!(waiting.as_mut().poll(&mut context).is_ready());
    }
}
