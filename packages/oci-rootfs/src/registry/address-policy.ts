import { lookup as dnsLookup, type LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { ImageError } from "../base/errors.ts";
import { isMetadataAddress, type NetworkScope, scopeOf } from "./network-scope.ts";

/**
 * Decides where redirects and token realms of one registry may lead: to public addresses, and to the part of the
 * network that the registry is in. Otherwise a registry on the internet could make this process call internal
 * services.
 */
export class AddressPolicy {
  readonly #registryScopes = new Set<NetworkScope>();
  readonly #named: ReadonlySet<string>;

  /** @param named hosts (with port) that the caller trusts, because it named them as insecure registries */
  constructor(named: Iterable<string>) {
    this.#named = new Set(named);
  }

  /** Records the address of a connection to the registry itself. A host name may have several addresses. */
  noteRegistry(address: string | undefined): void {
    if (address !== undefined) this.#registryScopes.add(scopeOf(address));
  }

  /**
   * Resolves names of other hosts. Checks the addresses that are connected to, so that a name cannot rebind in
   * between.
   */
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

  /** Checks an IP address in the URL, which is not resolved. @throws ImageError UnsafeAddress */
  checkForeign(hostname: string, host: string): void {
    const address = literal(hostname);
    if (address !== undefined && !this.#allows(address, host)) throw refusal(host, address);
  }

  #allows(address: string, host: string): boolean {
    // A registry that is link-local itself may redirect to others, but no registry is a tunnel to them.
    const scope = isMetadataAddress(address) ? "link-local" : scopeOf(address);
    if (scope === "public" || this.#registryScopes.has(scope)) return true;
    return scope !== "link-local" && this.#named.has(host);
  }
}

function literal(hostname: string): string | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? undefined : bare;
}

function refusal(host: string, address: string): ImageError {
  return new ImageError(
    "UnsafeAddress",
    `the registry redirects to ${host} (${address}), which is in another part of the network than the registry; name it as an insecure registry if you trust it`,
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
