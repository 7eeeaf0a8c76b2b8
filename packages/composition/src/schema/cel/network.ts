import type { Environment } from "@marcbachmann/cel-js";
import { type Cidr, parseCidr, parseIp } from "../structural/ip-address.ts";
import { CelFunctionError } from "./failure.ts";

class CelIp {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

class CelCidr {
  readonly cidr: Cidr;

  constructor(cidr: Cidr) {
    this.cidr = cidr;
  }
}

/**
 * The IP address and CIDR libraries: https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-ip-address-library
 */
export function registerNetwork(environment: Environment): void {
  environment.registerType("net.IP", CelIp).registerType("net.CIDR", CelCidr);
  const on = (signature: string, handler: (...args: never[]) => unknown): void =>
    void environment.registerFunction(signature, handler);
  on("isIP(string): bool", (text: string) => parseIp(text) !== undefined);
  on("ip(string): net.IP", (text: string) => new CelIp(ipOf(text)));
  on("net.IP.family(): int", ({ bytes }: CelIp) => (bytes.length === 4 ? 4n : 6n));
  on("net.IP.isUnspecified(): bool", ({ bytes }: CelIp) => bytes.every((byte) => byte === 0));
  on("net.IP.isLoopback(): bool", ({ bytes }: CelIp) =>
    bytes.length === 4 ? bytes[0] === 127 : bytes.every((byte, index) => byte === (index === 15 ? 1 : 0)),
  );
  on("net.IP.isLinkLocalUnicast(): bool", ({ bytes }: CelIp) =>
    bytes.length === 4 ? bytes[0] === 169 && bytes[1] === 254 : bytes[0] === 0xfe && ((bytes[1] ?? 0) & 0xc0) === 0x80,
  );
  on("net.IP.isGlobalUnicast(): bool", ({ bytes }: CelIp) => isGlobalUnicast(bytes));
  environment.registerOperator("net.IP == net.IP", (a: CelIp, b: CelIp) => sameBytes(a.bytes, b.bytes));
  on("isCIDR(string): bool", (text: string) => parseCidr(text) !== undefined);
  on("cidr(string): net.CIDR", (text: string) => new CelCidr(cidrOf(text)));
  environment.registerOperator(
    "net.CIDR == net.CIDR",
    (a: CelCidr, b: CelCidr) => a.cidr.prefixLength === b.cidr.prefixLength && sameBytes(a.cidr.ip, b.cidr.ip),
  );
  on("net.CIDR.prefixLength(): int", ({ cidr }: CelCidr) => BigInt(cidr.prefixLength));
  on("net.CIDR.ip(): net.IP", ({ cidr }: CelCidr) => new CelIp(cidr.ip));
  on(
    "net.CIDR.masked(): net.CIDR",
    ({ cidr }: CelCidr) => new CelCidr({ ...cidr, ip: masked(cidr.ip, cidr.prefixLength) }),
  );
  on("net.CIDR.containsIP(string): bool", ({ cidr }: CelCidr, ip: string) => contains(cidr, ipOf(ip)));
  on("net.CIDR.containsIP(net.IP): bool", ({ cidr }: CelCidr, { bytes }: CelIp) => contains(cidr, bytes));
  on("net.CIDR.containsCIDR(string): bool", ({ cidr }: CelCidr, other: string) => containsCidr(cidr, cidrOf(other)));
  on("net.CIDR.containsCIDR(net.CIDR): bool", (a: CelCidr, b: CelCidr) => containsCidr(a.cidr, b.cidr));
}

function ipOf(text: string): Uint8Array {
  const bytes = parseIp(text);
  if (bytes === undefined) throw new CelFunctionError("not an IP address");
  return bytes;
}

function cidrOf(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new CelFunctionError("not a CIDR");
  return cidr;
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

function isGlobalUnicast(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes;
  const zero = bytes.every((byte) => byte === 0);
  if (bytes.length === 4) {
    return !(
      zero ||
      first === 127 ||
      (first & 0xf0) === 0xe0 ||
      (first === 169 && second === 254) ||
      bytes.every((byte) => byte === 255)
    );
  }
  const loopback = bytes.every((byte, index) => byte === (index === 15 ? 1 : 0));
  return !(zero || loopback || first === 0xff || (first === 0xfe && (second & 0xc0) === 0x80));
}
