//! A world of few addresses in which much happens: the beginning and the end of each family, and
//! the places where an address ends in zeros.

use std::net::IpAddr;

use landbridge_addr::net::{Family, Range};
use landbridge_addr::number::{address, number};
use proptest::prelude::*;

/// How many addresses there are in each place.
const WIDTH: u128 = 24;

/// Where each place begins. Ranges stay inside their place.
const PLACES: [(Family, u128); 6] = [
    (Family::V4, 0),
    (Family::V4, 0x0a00_00f4), // 10.0.0.244 to 10.0.1.11
    (Family::V4, (1 << 32) - WIDTH),
    (Family::V6, 0),
    (Family::V6, (0xfd00 << 112) + 0xfff4), // fd00::fff4 to fd00::1:b
    (Family::V6, u128::MAX - WIDTH + 1),
];

/// All addresses of the world, in order.
pub fn everything() -> impl Iterator<Item = IpAddr> {
    PLACES.iter().flat_map(|(family, begin)| {
        (0..WIDTH).map(move |offset| address(*family, begin + offset).unwrap())
    })
}

/// All of each family: larger than the world.
pub fn families() -> [Range; 2] {
    ["0.0.0.0/0", "::/0"].map(|text| text.parse().unwrap())
}

pub fn one() -> impl Strategy<Value = IpAddr> {
    (0..PLACES.len(), 0..WIDTH)
        .prop_map(|(place, offset)| address(PLACES[place].0, PLACES[place].1 + offset).unwrap())
}

pub fn range() -> impl Strategy<Value = Range> {
    (0..PLACES.len(), 0..WIDTH, 0..WIDTH).prop_map(|(place, a, b)| {
        let (family, begin) = PLACES[place];
        let end = |offset| address(family, begin + offset).unwrap();
        Range::new(end(a.min(b)), end(a.max(b))).unwrap()
    })
}

/// Every address of a range, one by one.
pub fn members(range: Range) -> impl Iterator<Item = IpAddr> {
    let numbers = number(range.first())..=number(range.last());
    numbers.map(move |number| address(range.family(), number).unwrap())
}
