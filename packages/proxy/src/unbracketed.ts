/** A hostname of a URL, as `node:net` takes it: IPv6 addresses without brackets. */
export function unbracketed(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}
