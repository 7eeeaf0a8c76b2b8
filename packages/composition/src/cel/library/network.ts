import { type Cidr, parseCidr, parseIp } from "../../schema/structural/ip-address.ts";
import { CIDR, IP, type Type } from "../values/type.ts";
import { Extension, Failure } from "../values/value.ts";
import type { Define } from "./define.ts";

class Ip extends Extension {
  readonly type: Type = IP;
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    super();
    this.bytes = bytes;
  }

  equals(other: Extension): boolean {
    return other instanceof Ip && sameBytes(this.bytes, other.bytes);
  }
}

class Network extends Extension {
  readonly type: Type = CIDR;
  readonly cidr: Cidr;

  constructor(cidr: Cidr) {
    super();
    this.cidr = cidr;
  }

  equals(other: Extension): boolean {
    return (
      other instanceof Network &&
      this.cidr.prefixLength === other.cidr.prefixLength &&
      sameBytes(this.cidr.ip, other.cidr.ip)
    );
  }
}

/**
 * The IP address and CIDR libraries: https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-ip-address-library
 */
export function defineNetwork(define: Define): void {
  define("isIP", "(string) bool", (text: string) => ipOf(text) instanceof Ip);
  define("ip", "(string) IP", ipOf);
  define("ip.isCanonical", "(string) bool", (text: string) => {
    const ip = ipOf(text);
    return ip instanceof Failure ? ip : printIp(ip.bytes) === text;
  });
  define("string", "(IP) string", ({ bytes }: Ip) => printIp(bytes));
  define("family", "IP.() int", ({ bytes }: Ip) => (bytes.length === 4 ? 4n : 6n));
  define("isUnspecified", "IP.() bool", ({ bytes }: Ip) => bytes.every((byte) => byte === 0));
  define("isLoopback", "IP.() bool", ({ bytes }: Ip) => isLoopback(bytes));
  define("isLinkLocalMulticast", "IP.() bool", ({ bytes }: Ip) => isLinkLocalMulticast(bytes));
  define("isLinkLocalUnicast", "IP.() bool", ({ bytes }: Ip) => isLinkLocalUnicast(bytes));
  define("isGlobalUnicast", "IP.() bool", ({ bytes }: Ip) => isGlobalUnicast(bytes));
  define("isCIDR", "(string) bool", (text: string) => networkOf(text) instanceof Network);
  define("cidr", "(string) CIDR", networkOf);
  define("string", "(CIDR) string", ({ cidr }: Network) => `${printIp(cidr.ip)}/${cidr.prefixLength}`);
  define("prefixLength", "CIDR.() int", ({ cidr }: Network) => BigInt(cidr.prefixLength));
  define("ip", "CIDR.() IP", ({ cidr }: Network) => new Ip(cidr.ip), "cidr_ip");
  define(
    "masked",
    "CIDR.() CIDR",
    ({ cidr }: Network) => new Network({ ...cidr, ip: masked(cidr.ip, cidr.prefixLength) }),
  );
  define(
    "containsIP",
    "CIDR.(string) bool",
    ({ cidr }: Network, text: string) => {
      const ip = ipOf(text);
      return ip instanceof Failure ? ip : contains(cidr, ip.bytes);
    },
    "contains_ip_string",
  );
  define("containsIP", "CIDR.(IP) bool", ({ cidr }: Network, { bytes }: Ip) => contains(cidr, bytes));
  define(
    "containsCIDR",
    "CIDR.(string) bool",
    ({ cidr }: Network, text: string) => {
      const other = networkOf(text);
      return other instanceof Failure ? other : containsCidr(cidr, other.cidr);
    },
    "contains_cidr_string",
  );
  define("containsCIDR", "CIDR.(CIDR) bool", (a: Network, b: Network) => containsCidr(a.cidr, b.cidr));
}

function ipOf(text: string): Ip | Failure {
  const bytes = parseIp(text);
  return bytes === undefined || isMapped(bytes) ? new Failure("IP address parse error") : new Ip(bytes);
}

function networkOf(text: string): Network | Failure {
  const cidr = parseCidr(text);
  return cidr === undefined || isMapped(cidr.ip) ? new Failure("network address parse error") : new Network(cidr);
}

/** Whether an IPv6 address contains one of IPv4: `::ffff:10.0.0.1`. */
function isMapped(bytes: Uint8Array): boolean {
  return bytes.length === 16 && bytes.every((byte, at) => at > 11 || byte === (at < 10 ? 0 : 0xff));
}

/** Prints an address in the form of RFC 5952: the longest run of two or more zero groups is `::`. */
function printIp(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, at) => ((bytes[at * 2] ?? 0) << 8) | (bytes[at * 2 + 1] ?? 0));
  let [start, length] = [-1, 1];
  for (let at = 0; at < 8; at++) {
    let end = at;
    while (groups[end] === 0) end++;
    if (end - at > length) [start, length] = [at, end - at];
    at = Math.max(at, end - 1);
  }
  const print = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(":");
  return start < 0 ? print(groups) : `${print(groups.slice(0, start))}::${print(groups.slice(start + length))}`;
}

function masked(ip: Uint8Array, prefixLength: number): Uint8Array {
  return ip.map((byte, index) => {
    const bits = Math.min(Math.max(prefixLength - index * 8, 0), 8);
    return byte & (0xff << (8 - bits));
  });
}

function contains({ ip, prefixLength }: Cidr, other: Uint8Array): boolean {
  return ip.length === other.length && sameBytes(masked(ip, prefixLength), masked(other, prefixLength));
}

function containsCidr(outer: Cidr, inner: Cidr): boolean {
  return outer.prefixLength <= inner.prefixLength && contains(outer, inner.ip);
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function isLoopback(bytes: Uint8Array): boolean {
  return bytes.length === 4 ? bytes[0] === 127 : bytes.every((byte, index) => byte === (index === 15 ? 1 : 0));
}

function isLinkLocalUnicast(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes;
  return bytes.length === 4 ? first === 169 && second === 254 : first === 0xfe && (second & 0xc0) === 0x80;
}

function isLinkLocalMulticast(bytes: Uint8Array): boolean {
  const [first = 0, second = 0, third = 0] = bytes;
  return bytes.length === 4 ? first === 224 && second === 0 && third === 0 : first === 0xff && (second & 0x0f) === 2;
}

function isGlobalUnicast(bytes: Uint8Array): boolean {
  const [first = 0] = bytes;
  const isMulticast = bytes.length === 4 ? (first & 0xf0) === 0xe0 : first === 0xff;
  const isBroadcast = bytes.length === 4 && bytes.every((byte) => byte === 255);
  const isUnspecified = bytes.every((byte) => byte === 0);
  return !(isUnspecified || isBroadcast || isMulticast || isLoopback(bytes) || isLinkLocalUnicast(bytes));
}
