import type { JsonObject } from "@xfn/json";
import { tryParseImageName } from "@xfn/oci-rootfs/image-name";
import { dnsLabel, isPackageName, PACKAGE_GROUP, PACKAGE_KINDS, type PackageKind } from "@xfn/package";
import { usageError } from "../errors/cli-error.ts";

/** The API version of the objects that install packages. */
const PACKAGE_API_VERSION: string = `${PACKAGE_GROUP}/v1`;

/** The object that installs a package. */
export interface PackageObject {
  readonly kind: PackageKind;
  readonly name: string;
  /** `spec.package` */
  readonly package: string;
}

/**
 * Reads the arguments KIND PACKAGE [NAME].
 *
 * @throws CliError `Usage`
 */
export function packageObject(kind: string, reference: string, name: string | undefined): PackageObject {
  const known = PACKAGE_KINDS.find((one) => one.toLowerCase() === kind.toLowerCase());
  if (known === undefined) {
    const kinds = PACKAGE_KINDS.map((one) => one.toLowerCase()).join(", ");
    throw usageError(`KIND must be one of ${kinds}, not ${JSON.stringify(kind)}`);
  }
  const parsed = tryParseImageName(reference);
  const isFull = parsed?.kind === "registry" && parsed.qualified;
  const version = isFull ? (parsed.digest ?? parsed.tag) : undefined;
  // Without a tag in the text, parsing adds `latest`.
  const hasVersion = version !== undefined && [":", "@"].some((mark) => reference.endsWith(mark + version));
  if (!isFull || !hasVersion) {
    throw usageError(
      `PACKAGE must be REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST, such as ` +
        `xpkg.crossplane.io/crossplane-contrib/provider-nop:v0.4.0, not ${JSON.stringify(reference)}`,
    );
  }
  const chosen = name ?? dnsLabel(parsed.repository);
  if (!isPackageName(chosen))
    throw usageError(
      `NAME ${JSON.stringify(chosen)} must be a Kubernetes name: lower case letters, digits, dashes and dots`,
    );
  return { kind: known, name: chosen, package: reference };
}

/** `provider/acme-p`, as kubectl prints objects. */
export function printed({ kind, name }: PackageObject): string {
  return `${kind.toLowerCase()}/${name}`;
}

/** Identifies the object on the API server. */
export function referenceOf({ kind, name }: PackageObject): { apiVersion: string; kind: string; name: string } {
  return { apiVersion: PACKAGE_API_VERSION, kind, name };
}

/** The object with this spec. */
export function objectOf(object: PackageObject, spec: JsonObject): JsonObject & { metadata: { name: string } } {
  const { name, ...type } = referenceOf(object);
  return { ...type, metadata: { name }, spec: { package: object.package, ...spec } };
}
