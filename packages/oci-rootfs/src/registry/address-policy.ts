import { lookup as dnsLookup, type LookupAddress } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { ImageError } from "../base/errors.ts";

/** Which part of the network an address is in. */
export type Side = "public" | "private" | "loopback" | "link-local";

const LISTS: readonly (readonly [Side, BlockList])[] = [
  // Cloud metadata services answer there, with credentials.
  ["link-local", listOf(["169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128"])],
  ["loopback", listOf(["127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"])],
  // With shared (RFC 6598), benchmark, multicast and reserved addresses: none of them is a public host.
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

export function sideOf(address: string): Side {
  const plain = embeddedIPv4(address) ?? address;
  const family = isIP(plain) === 6 ? "ipv6" : "ipv4";
  return LISTS.find(([, list]) => list.check(plain, family))?.[0] ?? "public";
}

/** IPv6 forms of an IPv4 address: mapped, compatible, NAT64 (RFC 6052) and 6to4 (RFC 3056). */
function embeddedIPv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  // The URL parser writes every form of an IPv6 address in one way.
  const groups = expand(new URL(`http://[${address.split("%")[0]}]`).hostname.slice(1, -1));
  const dotted = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join(".");
  const zero = (from: number, to: number): boolean => groups.slice(from, to).every((group) => group === 0);
  const [first = 0, second = 0, third = 0, , , sixth = 0, seventh = 0, eighth = 0] = groups;
  if (first === 0x2002) return dotted(second, third);
  if (first === 0x64 && second === 0xff9b && zero(2, 6)) return dotted(seventh, eighth);
  if (zero(0, 5) && sixth === 0xffff) return dotted(seventh, eighth);
  return zero(0, 6) && seventh !== 0 ? dotted(seventh, eighth) : undefined;
}

function expand(address: string): number[] {
  const [head = "", tail] = address.split("::");
  const parse = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const left = parse(head);
  const right = tail === undefined ? [] : parse(tail);
  return [...left, ...Array<number>(Math.max(0, 8 - left.length - right.length)).fill(0), ...right];
}

/**
 * Where redirects and token realms of one registry may lead: anywhere public, and to the part of the network that the
 * registry is in itself. Otherwise a registry on the internet could have us call services inside.
 */
export class AddressPolicy {
  readonly #registrySides = new Set<Side>();
  readonly #named: ReadonlySet<string>;

  /** @param named hosts (with port) that the caller has named as insecure registries, and so vouches for */
  constructor(named: Iterable<string>) {
    this.#named = new Set(named);
  }

  /** To be told the address of each connection to the registry itself. Names are not enough: they may have many. */
  noteRegistry(address: string | undefined): void {
    if (address !== undefined) this.#registrySides.add(sideOf(address));
  }

  /** Name resolution for other hosts: checked here, at the last moment, so that a name cannot change its mind. */
  lookupForeign(host: string): LookupFunction {
    return (hostname, options, callback) => {
      dnsLookup(hostname, { ...options, all: true }, (error, addresses) => {
        const allowed = error === null ? addresses.filter(({ address }) => this.#allows(address, host)) : [];
        if (error === null && allowed.length === 0) {
          const refused = refusal(host, addresses[0]?.address ?? "nothing");
          answer(refused, [], options, callback);
          return;
        }
        answer(error, allowed, options, callback);
      });
    };
  }

  /** For an address in the URL itself, which is not looked up. @throws ImageError UnsafeAddress */
  checkForeign(hostname: string, host: string): void {
    const address = literal(hostname);
    if (address !== undefined && !this.#allows(address, host)) throw refusal(host, address);
  }

  #allows(address: string, host: string): boolean {
    const side = sideOf(address);
    if (side === "public" || this.#registrySides.has(side)) return true;
    return side !== "link-local" && this.#named.has(host);
  }
}

function literal(hostname: string): string | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? undefined : bare;
}

function refusal(host: string, address: string): ImageError {
  return new ImageError(
    "UnsafeAddress",
    `the registry sends us to ${host} (${address}), which is in another part of the network than itself; name it as an insecure registry if that is right`,
  );
}

type LookupCallback = Parameters<LookupFunction>[2];

function answer(
  error: NodeJS.ErrnoException | null,
  addresses: LookupAddress[],
  options: { all?: boolean | undefined },
  callback: LookupCallback,
): void {
  if (error !== null) callback(error, "", 0);
  else if (options.all) callback(null, addresses);
  else callback(null, addresses[0]?.address ?? "", addresses[0]?.family ?? 0);
}
