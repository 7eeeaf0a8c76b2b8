// Checksums, provenance and signatures of a release.
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BuiltImage } from "../image/build-images.ts";
import type { ReleaseSettings } from "./settings.ts";
import { signed } from "./signed.ts";

const PAYLOAD_TYPE = "application/vnd.in-toto+json";

/** The SHA-256 of each file below a folder, by its path. */
function checksums(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => lstatSync(join(folder, name)).isFile())
    .toSorted();
  return new Map(
    files.map((name) => [
      name,
      createHash("sha256")
        .update(readFileSync(join(folder, name)))
        .digest("hex"),
    ]),
  );
}

/** Writes SHA256SUMS of all files, as `sha256sum -c` reads it, and its signature. */
export function writeChecksums({ output, key }: ReleaseSettings): void {
  const text = [...checksums(output)].map(([name, hash]) => `${hash}  ${name}\n`).join("");
  writeFileSync(join(output, "SHA256SUMS"), text);
  if (key !== undefined) writeFileSync(join(output, "SHA256SUMS.sig"), `${signed(key, Buffer.from(text))}\n`);
}

/**
 * Writes how the release was built, as an in-toto statement (https://slsa.dev/spec/v1.0/provenance) in a signed envelope
 * (https://github.com/secure-systems-lab/dsse).
 *
 * @param commit the commit of the sources
 */
export function writeProvenance(settings: ReleaseSettings, images: readonly BuiltImage[], commit: string): void {
  const { output, repository, registry, version, key } = settings;
  const files = [...checksums(output)].filter(([name]) => !name.startsWith("images/"));
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: [
      ...files.map(([name, sha256]) => ({ name, digest: { sha256 } })),
      ...images.map(({ name, digest }) => ({
        name: `${registry}/${name}`,
        digest: { sha256: digest.replace("sha256:", "") },
      })),
    ],
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: `${repository}/blob/v${version}/scripts/release.ts`,
        externalParameters: { version, repository, registry },
        resolvedDependencies: [{ uri: `git+${repository}@refs/tags/v${version}`, digest: { gitCommit: commit } }],
      },
      runDetails: { builder: { id: `${repository}/blob/v${version}/.github/workflows/release.yml` } },
    },
  };
  const body = Buffer.from(JSON.stringify(statement));
  const bytes = Buffer.concat([Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${body.length} `), body]);
  const envelope = {
    payloadType: PAYLOAD_TYPE,
    payload: body.toString("base64"),
    signatures: key === undefined ? [] : [{ sig: signed(key, bytes) }],
  };
  writeFileSync(join(output, `xfn-${version}.intoto.json`), `${JSON.stringify(envelope)}\n`);
}
