// The bill of materials of a release, as CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/).
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { LOCK, type LockedPackage } from "../image/debian.ts";

interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  /** For development, and optional. */
  readonly devOptional?: boolean;
  readonly peer?: boolean;
  readonly name?: string;
}

type Component = Readonly<Record<string, unknown>> & { readonly "bom-ref": string };

const NPM_LOCKS = [
  "../../package-lock.json",
  "../node/linux-x64/package-lock.json",
  "../node/linux-arm64/package-lock.json",
];

/** Lists the packages of a release, all that npm installs for them, and the base of the images. */
export function sbom(version: string): string {
  const found = [...NPM_LOCKS.flatMap((lock) => npmComponents(lock, version)), ...debianComponents()];
  const components = [...new Map(found.map((one) => [one["bom-ref"], one])).values()].toSorted((a, b) =>
    a["bom-ref"] < b["bom-ref"] ? -1 : 1,
  );
  const hash = createHash("sha256").update(JSON.stringify(components)).digest("hex");
  // A version 8 UUID: the same release has the same number.
  const serial = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
  const document = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${serial}`,
    version: 1,
    metadata: {
      component: { type: "application", name: "xfn", version, licenses: [{ license: { id: "Apache-2.0" } }] },
    },
    components,
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function npmComponents(lock: string, version: string): Component[] {
  const text = readFileSync(new URL(lock, import.meta.url), "utf8");
  const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, LockEntry>> };
  return Object.entries(packages).flatMap(([path, entry]) => {
    const at = path.lastIndexOf("node_modules/");
    if (at < 0 || entry.dev === true || entry.devOptional === true || entry.peer === true) return [];
    const name = path.slice(at + "node_modules/".length);
    const own = entry.link === true;
    return own && !name.startsWith("@xfn/")
      ? []
      : [npmComponent(name, own ? { version, license: "Apache-2.0" } : entry)];
  });
}

function npmComponent(name: string, { version = "0", integrity, license }: LockEntry): Component {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const [, base64] = /^sha512-(\S+)/.exec(integrity ?? "") ?? [];
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    ...(license !== undefined && { licenses: [{ expression: license }] }),
    ...(base64 !== undefined && {
      hashes: [{ alg: "SHA-512", content: Buffer.from(base64, "base64").toString("hex") }],
    }),
  };
}

function debianComponents(): Component[] {
  const lock = JSON.parse(readFileSync(LOCK, "utf8")) as Record<string, readonly LockedPackage[]>;
  return Object.values(lock)
    .flat()
    .map(({ path, sha256 }) => {
      const [name = "", version = "", architecture = ""] = path.replace(/^.*\/|\.deb$/g, "").split("_");
      const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`;
      return { type: "library", "bom-ref": purl, name, version, purl, hashes: [{ alg: "SHA-256", content: sha256 }] };
    });
}
