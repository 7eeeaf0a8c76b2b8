import { isIPv6 } from "node:net";

/** An address on which a server listens. */
export interface ListenAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/**
 * Reads `HOST:PORT`, `[::1]:PORT`, `:PORT` or `PORT` (both on loopback), or `off`. @throws Error with the expected form
 */
export function listenAddress(text: string): ListenAddress | undefined {
  if (text === "off") return undefined;
  const [, v6, name = "", digits = ""] =
    /^(?:(?:\[([^\]]{2,45})\]|([A-Za-z0-9.-]{0,253})):)?(\d{1,5})$/.exec(text) ?? [];
  const port = digits === "" ? Number.NaN : Number(digits);
  if (!(port <= 65_535) || (v6 !== undefined && !isIPv6(v6)))
    throw new Error(`${JSON.stringify(text)} must be HOST:PORT, PORT or off`);
  return { host: v6 ?? (name === "" ? "127.0.0.1" : name), port };
}
