import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { InputError, unreadable } from "@xfn/input";
import { isObject, type JsonObject, type JsonValue, valueAt } from "@xfn/json";
import type { Image } from "@xfn/oci-rootfs";
import { isLayoutName } from "@xfn/oci-rootfs/image-name";
import type { BundledPackage } from "../bundle/bundled-packages.ts";

/** The path of the SBOM in an image. Scanners look for files with this name. */
export const SBOM_PATH = "/sbom.spdx.json";

/** The input of {@link sbom}. */
export interface SbomContents {
  /** The function's folder. Its lock file is there or in a parent. */
  readonly dir: string;
  /** The name of the function. */
  readonly name: string;
  readonly packages: readonly BundledPackage[];
  /** The base image, unless it was made from the build machine. */
  readonly base?: Image | undefined;
}

// The lock file of a large monorepo has some 5 MB.
const MAX_LOCK_BYTES = 64 * 1024 * 1024;
const ROOT = "SPDXRef-Function";
/** Fixed, so that builds are reproducible. */
const CREATED = "1970-01-01T00:00:00Z";

/**
 * Lists the packages in a function's bundle as an SPDX 2.3 document (https://spdx.github.io/spdx-spec/v2.3/), with the
 * data of the lock file that scanners need. The same packages give the same bytes.
 *
 * @throws InputError without a lock file, and for a package that is neither in the lock file nor from xfn
 */
export function sbom({ dir, name, packages, base }: SbomContents): string {
  const lock = packages.some(({ ofSdk }) => !ofSdk) ? readLock(dir) : undefined;
  const described = packages.map((each, at) => describe(each, at, lock));
  const root = {
    SPDXID: ROOT,
    name,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    primaryPackagePurpose: "APPLICATION",
  };
  const all = [root, ...described, ...(base === undefined ? [] : [describeBase(base)])];
  const related = (spdxElementId: string, relationshipType: string, relatedSpdxElement: string): JsonObject => ({
    spdxElementId,
    relationshipType,
    relatedSpdxElement,
  });
  const relationships = [
    related("SPDXRef-DOCUMENT", "DESCRIBES", ROOT),
    ...described.map(({ SPDXID }) => related(ROOT, "CONTAINS", SPDXID)),
    ...(base === undefined ? [] : [related(ROOT, "DESCENDANT_OF", "SPDXRef-Base")]),
  ];
  const hash = createHash("sha256").update(JSON.stringify(all)).digest("hex");
  const document = {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name,
    // SPDX requires a unique namespace for each document.
    documentNamespace: `https://spdx.org/spdxdocs/${encodeURIComponent(name)}-${hash}`,
    creationInfo: { created: CREATED, creators: ["Tool: xfn"] },
    documentDescribes: [ROOT],
    packages: all,
    relationships,
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function describe({ name, version, ofSdk }: BundledPackage, at: number, lock: Lock | undefined) {
  const entry = lock?.find(name, version);
  if (entry === undefined && !ofSdk)
    throw new InputError(`${name} ${version} is in the bundle but not in ${lock?.path}: run npm install`);
  const { resolved, license, integrity } = entry ?? {};
  const checksum = typeof integrity === "string" ? sha512(integrity) : undefined;
  // A lock file may contain a mirror with a password in its URL.
  const location = typeof resolved === "string" && /^https?:\/\/[^@\s]+$/.test(resolved) ? resolved : "NOASSERTION";
  return {
    SPDXID: `SPDXRef-Package-${at}`,
    name,
    versionInfo: version,
    downloadLocation: location,
    filesAnalyzed: false,
    primaryPackagePurpose: "LIBRARY",
    ...(typeof license === "string" && isLicense(license) && { licenseDeclared: license }),
    ...(checksum !== undefined && { checksums: [{ algorithm: "SHA512", checksumValue: checksum }] }),
    externalRefs: [
      {
        referenceCategory: "PACKAGE-MANAGER",
        referenceType: "purl",
        // https://github.com/package-url/purl-spec: the scope's @ is encoded, its slash is not.
        referenceLocator: `pkg:npm/${name.replace("@", "%40")}@${encodeURIComponent(version)}`,
      },
    ],
  };
}

function describeBase({ name, digest }: Image) {
  return {
    SPDXID: "SPDXRef-Base",
    name: isLayoutName(name) ? "base" : name,
    versionInfo: digest,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    primaryPackagePurpose: "CONTAINER",
  };
}

interface Lock {
  readonly path: string;
  find(name: string, version: string): JsonObject | undefined;
}

function readLock(dir: string): Lock {
  for (let folder = dir; ; folder = dirname(folder)) {
    const path = join(folder, "package-lock.json");
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isFile()) {
      if (stat.size > MAX_LOCK_BYTES)
        throw new InputError(`${path} is larger than ${MAX_LOCK_BYTES / 1024 / 1024} MiB`);
      return parseLock(path);
    }
    if (dirname(folder) === folder)
      throw new InputError(
        `--sbom requires a package-lock.json in ${dir} or a parent: run npm install --package-lock-only`,
      );
  }
}

function parseLock(path: string): Lock {
  let lock: JsonValue;
  try {
    lock = JSON.parse(readFileSync(path, "utf8")) as JsonValue;
  } catch (error) {
    throw unreadable(path, error);
  }
  const packages = valueAt(lock, "packages");
  if (!isObject(packages))
    throw new InputError(`${path} is from npm 6 or older (it has no "packages"): run npm install to upgrade it`);
  const known = new Map<string, JsonObject>();
  for (const [location, entry] of Object.entries(packages)) {
    if (!isObject(entry)) continue;
    // esbuild metadata has version 0 for a package without one.
    const { name = nameOfPath(location), version = "0" } = entry;
    if (typeof name === "string" && typeof version === "string") known.set(`${name}@${version}`, entry);
  }
  return { path, find: (name, version) => known.get(`${name}@${version}`) };
}

/** The name of an installed package by its path, or of a workspace by its folder. */
function nameOfPath(path: string): string {
  const installed = path.lastIndexOf("node_modules/");
  return installed < 0 ? basename(path) : path.slice(installed + "node_modules/".length);
}

/** Converts base64 in the lock file to the hexadecimal of SPDX. */
function sha512(integrity: string): string | undefined {
  const [, base64] = /(?:^|\s)sha512-([A-Za-z0-9+/]{86}==)(?:$|\s)/.exec(integrity) ?? [];
  return base64 === undefined ? undefined : Buffer.from(base64, "base64").toString("hex");
}

/** Whether the text is a license expression; some packages have sentences or file names here. */
function isLicense(text: string): boolean {
  return (
    text.length <= 200 &&
    /^\(*[A-Za-z0-9.+-]+\)*(?: (?:AND|OR|WITH) \(*[A-Za-z0-9.+-]+\)*)*$/.test(text) &&
    text !== "UNLICENSED"
  );
}
