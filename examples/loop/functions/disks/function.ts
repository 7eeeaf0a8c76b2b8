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

  // What is not named any more is left alone, not deleted: so say which disks are to go when the pool shrinks.
  desired.prune(({ name }) => /^disk-\d+$/.test(name));
});
