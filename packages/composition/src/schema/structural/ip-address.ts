/** The 4 or 16 bytes of an IP address in the text form of RFC 4291. Like Go, rejects zones and leading zeros. */
export function parseIp(text: string): Uint8Array | undefined {
  // The longest address: ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255
  if (text.length > 45) return undefined;
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

/** An IP address and the length of its network's prefix. */
export interface Cidr {
  readonly ip: Uint8Array;
  readonly prefixLength: number;
}

/** Parses a network such as `10.0.0.0/8`. Bits beyond the prefix may be set. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf("/");
  const ip = parseIp(text.slice(0, slash === -1 ? 0 : slash));
  const length = text.slice(slash + 1);
  if (ip === undefined || !/^(0|[1-9][0-9]{0,2})$/.test(length) || Number(length) > ip.length * 8) return undefined;
  return { ip, prefixLength: Number(length) };
}

function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9][0-9]{0,2})$/.test(part) && Number(part) <= 255)) {
    return undefined;
  }
  return Uint8Array.from(parts, Number);
}

function parseIpv6(text: string): Uint8Array | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, index) => groups(half, index === halves.length - 1));
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined;
  const given = head.length + (tail?.length ?? 0);
  // `::` stands for at least one group.
  if (halves.length === 2 ? given > 14 : given !== 16) return undefined;
  return Uint8Array.from([...head, ...Array.from({ length: 16 - given }, () => 0), ...(tail ?? [])]);
}

/** The bytes of colon-separated groups. The last may be an IPv4 address. */
function groups(text: string, last: boolean): number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (part.includes(".")) {
      const ipv4 = last && index === parts.length - 1 ? parseIpv4(part) : undefined;
      if (ipv4 === undefined) return undefined;
      bytes.push(...ipv4);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
      const group = Number.parseInt(part, 16);
      bytes.push(group >> 8, group & 0xff);
    }
  }
  return bytes;
}
