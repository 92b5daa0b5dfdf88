//! The function libraries of Kubernetes.

use crate::support::hold;

#[test]
fn strings() {
    hold(&[
        "self.s.size() == 5",
        "size(self.s) == 5",
        "self.s.startsWith('h') && self.s.endsWith('o') && self.s.contains('ll')",
        "self.s.matches('^h.+o$')",
        "self.s.charAt(1) == 'ä'",
        "self.s.indexOf('l') == 2 && self.s.lastIndexOf('l') == 3",
        "'A-b'.lowerAscii() == 'a-b' && 'a-b'.upperAscii() == 'A-B'",
        "' x '.trim() == 'x'",
        "'a,b,c'.split(',') == ['a', 'b', 'c']",
        "self.list.join('-') == 'a-b-c' && self.list.join() == 'abc'",
        "'aaa'.replace('a', 'b') == 'bbb' && 'aaa'.replace('a', 'b', 2) == 'bba'",
        "self.s.substring(2, 4) == 'll'",
        "'a 1 b 22'.find('[0-9]+') == '1' && 'a 1 b 22'.findAll('[0-9]+') == ['1', '22']",
        "string(self.i) == '3' && int('4') == 4 && double('1.5') == 1.5",
    ]);
}

#[test]
fn lists_and_sets() {
    hold(&[
        "[1, 2, 3].isSorted() && !self.numbers.isSorted()",
        "self.numbers.sum() == 6 && self.numbers.min() == 1 && self.numbers.max() == 3",
        "self.numbers.indexOf(2) == 2 && [1, 2, 1].lastIndexOf(1) == 2",
        "sets.contains(self.list, ['a', 'c'])",
        "sets.intersects(self.list, ['c', 'z'])",
        "sets.equivalent(self.numbers, [1, 2, 3])",
        "self.list + ['d'] == ['a', 'b', 'c', 'd']",
        "'b' in self.list",
    ]);
}

#[test]
fn quantities() {
    hold(&[
        "isQuantity('1.5Gi') && !isQuantity('1.5Zz')",
        "quantity('1Ki').isGreaterThan(quantity('1000'))",
        "quantity('200M').compareTo(quantity('0.2G')) == 0",
        "quantity('50k').asInteger() == 50000",
        "quantity('1Gi').add(quantity('1Gi')) == quantity('2Gi')",
    ]);
}

#[test]
fn addresses_and_urls() {
    hold(&[
        "isIP('192.0.2.1') && isIP('2001:db8::1') && !isIP('here')",
        "ip('192.0.2.1').family() == 4 && ip('::1').isLoopback()",
        "isCIDR('192.0.2.0/24') && cidr('192.0.2.0/24').containsIP('192.0.2.7')",
        "cidr('192.0.2.0/24').containsCIDR('192.0.2.128/25') && cidr('192.0.2.0/24').prefixLength() == 24",
        "isURL('https://example.com:80/x')",
        "url('https://example.com:80/x').getHostname() == 'example.com'",
        "url('https://example.com:80/x').getPort() == '80'",
    ]);
}

#[test]
fn formats_versions_and_numbers() {
    hold(&[
        "'%s has %d'.format([self.s, self.i]) == 'hällo has 3'",
        "!format.dns1123Label().validate('my-name').hasValue()",
        "format.dns1123Label().validate('My_Name').hasValue()",
        "isSemver('1.2.3') && semver('1.10.0').isGreaterThan(semver('1.9.0'))",
        "semver('1.2.3').minor() == 2",
        "math.greatest(self.i, 7) == 7 && math.least([1, 2]) == 1",
        "base64.encode(b'hello') == 'aGVsbG8='",
    ]);
}
