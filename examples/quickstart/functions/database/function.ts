import { compose } from "@xfn/functionio/sdk";
import type { XDatabase } from "./types.ts";

// A PostgreSQL cluster (https://cloudnative-pg.io) with one database and the user that owns it. The operator generates the
// password and stores it in a Secret. The XR's status names that Secret.
export default compose<XDatabase>(({ xr, desired }) => {
  const { name } = xr.metadata;
  const { namespace, storage, highlyAvailable } = xr.spec;

  desired.apply("cluster", {
    apiVersion: "postgresql.cnpg.io/v1",
    kind: "Cluster",
    metadata: { name, namespace },
    spec: {
      instances: highlyAvailable ? 3 : 1,
      storage: { size: storage },
      bootstrap: { initdb: { database: name, owner: name } },
    },
  });

  desired.composite.status({ host: `${name}-rw.${namespace}.svc`, connectionSecret: `${name}-app` });
});
