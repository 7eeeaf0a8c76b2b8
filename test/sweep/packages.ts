import type { Context } from "@xfn/controller";
import { NO_REQUIREMENTS } from "@xfn/function-grpc";
import type { JsonObject } from "@xfn/functionio";
import { parsePackage } from "@xfn/package";
import { NAMESPACE } from "./kinds.ts";

// Packages of the scenarios: the tag is the first letter of each digest, and a function writes its version to a
// ConfigMap. That of version d is never ready.

const METADATA = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: { name: function-sweep }\n";

/** The digest of the package with a tag of one letter. */
function digestOf(tag: string): string {
  return `sha256:${tag.repeat(64)}`;
}

/** Registry, runner and functions of a controller. */
export function packageContext(): Partial<Context> {
  return {
    functionPackages: true,
    functionRuntimes: true,
    rollouts: true,
    // The next reconcile of an unused revision gives its runtimes up.
    runtimeGraceMs: 0,
    packages: {
      digestOf: async (reference) => digestOf(reference.slice(-1)),
      versions: async () => [],
      read: async (reference, kind) => parsePackage(Buffer.from(METADATA), { package: reference, kind }),
    },
    functionHost: { endpoint: "unix:/run/xfn/runner.sock", ready: async () => undefined },
    functions: {
      names: [],
      byName: () => undefined,
      byPackage: (reference) => ({
        run: async () => ({
          response: {
            desired: {
              resources: new Map([["version", { resource: versionMap(reference), ready: !reference.endsWith("d") }]]),
            },
            results: [],
            conditions: [],
            requirements: NO_REQUIREMENTS,
          },
          requestBytes: 0,
          responseBytes: 0,
          rounded: [],
        }),
      }),
      byEndpoint: () => {
        throw new TypeError("the runner serves all functions");
      },
      closeUnused: () => undefined,
    },
  };
}

function versionMap(reference: string): JsonObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: NAMESPACE },
    data: { version: reference.slice(-1) },
  };
}
