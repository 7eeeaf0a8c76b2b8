/** The registry of names without one, in the form of image names. */
export const DEFAULT_REGISTRY = "docker.io";

/** Other hosts that serve Docker Hub. */
const DOCKER_HUB_ALIASES: ReadonlySet<string> = new Set([
  "index.docker.io",
  "registry-1.docker.io",
  "registry.hub.docker.com",
]);

// Grammar of the OCI distribution specification, "Pulling manifests".
const HOST_NAME =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*(?::[0-9]{1,5})?$/;
const HOST_IPV6 = /^\[[0-9A-Fa-f:.]{2,45}\](?::[0-9]{1,5})?$/;

/** IPv4 in IPv6 (RFC 4291, 2.5.5.2), as URLs print it. */
const MAPPED_IPV4 = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]/;

/** Whether the first component of a name is a registry and not a part of the repository. */
export function isRegistry(component: string): boolean {
  return component === "localhost" || component.includes(".") || component.includes(":");
}

/**
 * A registry's host and port in one spelling: lower case, without the default port 443, IP addresses in the form of
 * URLs, and one name for Docker Hub. A host without a dot keeps its port.
 *
 * @returns undefined if the text is not a host with an optional port
 */
export function readRegistryHost(text: string): string | undefined {
  if (!HOST_NAME.test(text) && !HOST_IPV6.test(text)) return undefined;
  const url = URL.parse(`https://${text}`);
  if (url === null || url.port === "0") return undefined;
  const host = url.host.replace(MAPPED_IPV4, (_, high: string, low: string) => {
    const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
    return [a >> 8, a & 255, b >> 8, b & 255].join(".");
  });
  if (DOCKER_HUB_ALIASES.has(host)) return DEFAULT_REGISTRY;
  // Without its port, such a host would be read as a part of the repository the next time.
  return isRegistry(host) ? host : `${host}:443`;
}

/** As {@link readRegistryHost}; a pattern such as `*.registry.example` in lower case, without the port 443. */
export function canonicalRegistry(host: string): string {
  return readRegistryHost(host) ?? host.toLowerCase().replace(/:0*443$/, "");
}

/** Host and port of a registry's API, which for Docker Hub differ from its name. */
export function registryEndpoint(registry: string): string {
  return registry === DEFAULT_REGISTRY ? "registry-1.docker.io" : registry;
}
