const MAX_NAME = 50;
const MAX_HASH = 12;
const MAX_LABEL = 63;

// An RFC 1123 subdomain.
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAX_OBJECT_NAME = 253;

/** Whether Kubernetes accepts the value as the name of a package. */
export function isPackageName(name: unknown): name is string {
  return typeof name === "string" && NAME.test(name) && name.length <= MAX_OBJECT_NAME;
}

/**
 * The name that Crossplane gives to a revision of a package, and to the file of one: the name and the start of the
 * image's digest, as a DNS label.
 */
export function revisionName(name: string, digest: string): string {
  const hash = digest.slice(digest.indexOf(":") + 1);
  return dnsLabel(`${name.slice(0, MAX_NAME)}-${hash.slice(0, MAX_HASH)}`);
}

/** The text as a DNS label, as Crossplane writes it: `acme/provider-x` is `acme-provider-x`. */
export function dnsLabel(text: string): string {
  return text
    .slice(0, MAX_LABEL)
    .replaceAll(/[./:]/g, "-")
    .replaceAll(/[^a-z0-9-]/g, "")
    .replaceAll(/^-+|-+$/g, "");
}
