//! Many first-in-first-out lists in one slab: what the queues of a fair-queueing discipline wait in.
//! Memory follows what waits in all of them together, not their number, and nothing is allocated
//! once the slab has been as full as it gets.

/// Stands for "none" among the numbers of nodes.
const NIL: u32 = u32::MAX;

/// The nodes of all lists. A [`List`] belongs to the slab that it was first used with.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    nodes: Vec<Node<T>>,
    /// First of the chain of free nodes.
    free: u32,
}

#[derive(Clone, Debug)]
enum Node<T> {
    Used { next: u32, item: T },
    Free { next: u32 },
}

/// Ends of a list, 8 bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct List {
    head: u32,
    tail: u32,
}

/// Where an item is in its list, valid until that item is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u32);

impl Default for List {
    fn default() -> Self {
        List { head: NIL, tail: NIL }
    }
}

impl List {
    /// Whether it holds nothing.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.head == NIL
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { nodes: Vec::new(), free: NIL }
    }
}

impl<T> Slab<T> {
    /// Adds to the end.
    #[inline]
    pub fn push_back(&mut self, list: &mut List, item: T) {
        let node = self.occupy(item, NIL);
        self.append(list, node);
    }

    /// Takes from the front.
    #[inline]
    pub fn pop_front(&mut self, list: &mut List) -> Option<T> {
        self.remove_after(list, None)
    }

    /// Takes what follows `after`, a place in this list, or the first.
    #[inline]
    pub fn remove_after(&mut self, list: &mut List, after: Option<Place>) -> Option<T> {
        let node = after.map_or(list.head, |place| self.next(place.0));
        if node == NIL {
            return None;
        }
        let (next, item) = self.vacate(node);
        match after {
            Some(place) => *self.next_mut(place.0) = next,
            None => list.head = next,
        }
        if next == NIL {
            list.tail = after.map_or(NIL, |place| place.0);
        }
        Some(item)
    }

    /// The first item.
    #[inline]
    pub fn front(&self, list: &List) -> Option<&T> {
        (list.head != NIL).then(|| self.item(Place(list.head)))
    }

    /// The item at a place.
    ///
    /// # Panics
    /// When the item was removed.
    #[inline]
    pub fn item(&self, place: Place) -> &T {
        match &self.nodes[place.0 as usize] {
            Node::Used { item, .. } => item,
            Node::Free { .. } => panic!("the item at {place:?} was removed"),
        }
    }

    /// The items from the front on, and their places.
    pub fn iter(&self, list: &List) -> impl Iterator<Item = (Place, &T)> + '_ {
        let mut at = list.head;
        std::iter::from_fn(move || {
            let place = Place(at);
            (at != NIL).then(|| {
                at = self.next(at);
                (place, self.item(place))
            })
        })
    }

    /// All items of all lists, in no particular order.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Used { item, .. } => Some(item),
            Node::Free { .. } => None,
        })
    }

    fn append(&mut self, list: &mut List, node: u32) {
        if list.head == NIL {
            list.head = node;
        } else {
            *self.next_mut(list.tail) = node;
        }
        list.tail = node;
    }

    fn next(&self, node: u32) -> u32 {
        match self.nodes[node as usize] {
            Node::Used { next, .. } | Node::Free { next } => next,
        }
    }

    fn next_mut(&mut self, node: u32) -> &mut u32 {
        match &mut self.nodes[node as usize] {
            Node::Used { next, .. } | Node::Free { next } => next,
        }
    }

    fn occupy(&mut self, item: T, next: u32) -> u32 {
        let used = Node::Used { next, item };
        let node = self.free;
        if node == NIL {
            let node = self.nodes.len() as u32;
            assert!(node < NIL, "a slab numbers its nodes with 32 bits");
            self.nodes.push(used);
            return node;
        }
        self.free = self.next(node);
        self.nodes[node as usize] = used;
        node
    }

    fn vacate(&mut self, node: u32) -> (u32, T) {
        let free = Node::Free { next: self.free };
        match std::mem::replace(&mut self.nodes[node as usize], free) {
            Node::Used { next, item } => {
                self.free = node;
                (next, item)
            }
            Node::Free { .. } => panic!("node {node} is free and in a list"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::collections::VecDeque;

    fn content(slab: &Slab<u64>, list: &List) -> Vec<u64> {
        slab.iter(list).map(|(_, item)| *item).collect()
    }

    /// One random step on a list and on its model.
    fn step(rng: &mut Rng, slab: &mut Slab<u64>, list: &mut List, model: &mut VecDeque<u64>) {
        let n = rng.below(model.len() as u64 + 1) as usize;
        let after = n.checked_sub(1).and_then(|i| slab.iter(list).nth(i)).map(|(place, _)| place);
        let item = rng.next_u64();
        match rng.below(4) {
            0 | 1 => {
                slab.push_back(list, item);
                model.push_back(item);
            }
            2 => assert_eq!(slab.remove_after(list, after), model.remove(n)),
            _ => assert_eq!(slab.pop_front(list), model.pop_front()),
        }
    }

    #[test]
    fn lists_of_one_slab_behave_as_separate_queues() {
        let mut rng = Rng::stream(1, "lists");
        let mut slab = Slab::default();
        let mut lists: [List; 3] = Default::default();
        let mut models: [VecDeque<u64>; 3] = Default::default();
        for _ in 0..20_000 {
            let i = rng.below(3) as usize;
            step(&mut rng, &mut slab, &mut lists[i], &mut models[i]);
            for (list, model) in lists.iter().zip(&models) {
                assert!(content(&slab, list).iter().eq(model), "{list:?} {model:?}");
                assert_eq!(slab.front(list), model.front());
                assert_eq!(list.is_empty(), model.is_empty());
            }
        }
    }

    #[test]
    fn freed_nodes_serve_any_list_so_memory_follows_what_waits() {
        let mut slab = Slab::default();
        let mut lists: Vec<List> = (0..1000).map(|_| List::default()).collect();
        for list in &mut lists {
            for item in 0..10 {
                slab.push_back(list, item);
            }
            while slab.pop_front(list).is_some() {}
        }
        assert_eq!(slab.nodes.len(), 10);
        slab.push_back(&mut lists[7], 77);
        assert_eq!(slab.items().collect::<Vec<_>>(), [&77]);
    }
}
