import { compose, fatal, type } from "@xfn/functionio/sdk";
import * as v from "valibot";
import type { XTeam } from "./types.ts";

// The schema of this function's `config`. A config that violates it ends in a fatal result that names the field.
const Config = v.object({
  sizes: v.record(v.string(), v.object({ cpu: v.string(), memory: v.string() })),
});

export default compose({ composite: type<XTeam>(), config: Config }, ({ xr, config, desired }) => {
  const { name } = xr.metadata;
  // A Map, because every object has the key "constructor".
  const sizes = new Map(Object.entries(config.sizes));
  const size =
    sizes.get(xr.spec.size) ?? fatal(`spec.size: ${xr.spec.size} is not one of ${[...sizes.keys()].join(", ")}`);

  desired.apply(
    "namespace",
    { apiVersion: "v1", kind: "Namespace", metadata: { name } },
    { readinessChecks: [{ type: "MatchString", fieldPath: "status.phase", matchString: "Active" }] },
  );

  desired.apply(
    "quota",
    {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "team", namespace: name },
      spec: { hard: { "limits.cpu": size.cpu, "limits.memory": size.memory } },
    },
    { readinessChecks: [{ type: "NonEmpty", fieldPath: "status.hard" }] },
  );
});
