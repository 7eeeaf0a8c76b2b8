import "../base/require-node.ts";
import { BlockList, isIP } from "node:net";

/** The part of the network that an address belongs to. */
export type NetworkScope = "public" | "private" | "loopback" | "link-local";

const LISTS: readonly (readonly [NetworkScope, BlockList])[] = [
  // The addresses of cloud metadata services, which return credentials. Not all of them are link-local.
  [
    "link-local",
    listOf([
      "169.254.0.0/16",
      "fe80::/10",
      // Amazon: instance metadata, DNS, and identities of pods.
      "fd00:ec2::/32",
      // Google, Scaleway, Alibaba, Azure and Oracle.
      "fd20:ce::254/128",
      "fd00:42::42/128",
      "100.100.100.200/32",
      "168.63.129.16/32",
      "192.0.0.192/32",
    ]),
  ],
  ["loopback", listOf(["127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"])],
  // Includes shared (RFC 6598), benchmark, multicast and reserved addresses, none of which is a public host.
  [
    "private",
    listOf([
      "10.0.0.0/8",
      "172.16.0.0/12",
      "192.168.0.0/16",
      "100.64.0.0/10",
      "192.0.0.0/24",
      "198.18.0.0/15",
      "224.0.0.0/4",
      "240.0.0.0/4",
      // A network's own NAT64 prefix (RFC 8215), and Teredo (RFC 4380): both tunnel to IPv4 addresses of any scope.
      "64:ff9b:1::/48",
      "2001::/32",
      "fc00::/7",
      "fec0::/10",
      "ff00::/8",
    ]),
  ],
];

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    list.addSubnet(address, Number(prefix), address.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}

/** The part of the network of an IP address. */
export function scopeOf(address: string): NetworkScope {
  const plain = embeddedIPv4(address) ?? address;
  const family = isIP(plain) === 6 ? "ipv6" : "ipv4";
  return LISTS.find(([, list]) => list.check(plain, family))?.[0] ?? "public";
}

/**
 * Whether an address is, or may lead to, that of a cloud metadata service. A tunnel's IPv6 address does not tell where
 * its IPv4 address is, so each place counts.
 */
export function isMetadataAddress(address: string): boolean {
  return scopeOf(address) === "link-local" || tunnelledIPv4(address).some((one) => scopeOf(one) === "link-local");
}

/** The IPv4 addresses that a network's own NAT64 prefix (RFC 6052, section 2.2) or Teredo (RFC 4380) may lead to. */
function tunnelledIPv4(address: string): string[] {
  if (isIP(address) !== 6) return [];
  const groups = groupsOf(address);
  const bytes = groups.flatMap((group) => [group >> 8, group & 255]);
  const at = (...offsets: number[]): string => offsets.map((offset) => bytes[offset]).join(".");
  if (groups[0] === 0x64 && groups[1] === 0xff9b && groups[2] === 1)
    return [at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12), at(12, 13, 14, 15)];
  if (groups[0] === 0x2001 && groups[1] === 0)
    return [
      at(4, 5, 6, 7),
      bytes
        .slice(12)
        .map((byte) => byte ^ 255)
        .join("."),
    ];
  return [];
}

/** IPv6 forms of an IPv4 address: mapped, compatible, translated (RFC 2765), NAT64 (RFC 6052), 6to4 (RFC 3056). */
function embeddedIPv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  const groups = groupsOf(address);
  const dotted = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join(".");
  const zero = (from: number, to: number): boolean => groups.slice(from, to).every((group) => group === 0);
  const [first = 0, second = 0, third = 0, , fifth = 0, sixth = 0, seventh = 0, eighth = 0] = groups;
  if (first === 0x2002) return dotted(second, third);
  if (first === 0x64 && second === 0xff9b && zero(2, 6)) return dotted(seventh, eighth);
  if (zero(0, 5) && sixth === 0xffff) return dotted(seventh, eighth);
  if (zero(0, 4) && fifth === 0xffff && sixth === 0) return dotted(seventh, eighth);
  return zero(0, 6) && seventh !== 0 ? dotted(seventh, eighth) : undefined;
}

/** The URL parser normalises all forms of an IPv6 address. */
function groupsOf(address: string): number[] {
  return expand(new URL(`http://[${address.split("%")[0]}]`).hostname.slice(1, -1));
}

function expand(address: string): number[] {
  const [head = "", tail] = address.split("::");
  const parse = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const left = parse(head);
  const right = tail === undefined ? [] : parse(tail);
  return [...left, ...Array<number>(Math.max(0, 8 - left.length - right.length)).fill(0), ...right];
}
