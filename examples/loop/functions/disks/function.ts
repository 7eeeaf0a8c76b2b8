import { compose } from "@xfn/functionio/sdk";
import type { XDiskPool } from "./types.ts";

export default compose<XDiskPool>(({ xr, desired }) => {
  const { namespace, count, size } = xr.spec;

  for (let i = 0; i < count; i++) {
    desired.apply(
      `disk-${i}`,
      {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name: `${xr.metadata.name}-${i}`, namespace },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: size } } },
      },
      { readinessChecks: [{ type: "MatchString", fieldPath: "status.phase", matchString: "Bound" }] },
    );
  }

  // A disk that no function names stays unchanged. Delete the others explicitly when the pool shrinks.
  desired.prune(({ name }) => /^disk-\d+$/.test(name));
});
