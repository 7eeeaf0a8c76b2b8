import { compose, fatal } from "@xfn/functionio/sdk";
import type { XSQLDatabase } from "./types.ts";

// Composes a rule for each address or range that may connect.
export default compose<XSQLDatabase>(({ xr, desired, results }) => {
  for (const { name, from, to = from } of xr.spec.allow ?? []) {
    if (from === "0.0.0.0") {
      if (to !== from) fatal(`allow ${name}: a range may not begin at ${from}`);
      results.warning(`allow ${name}: ${from} lets in every tenant of the cloud; this is deprecated`);
    }
    desired.apply(`firewall-${name}`, {
      apiVersion: "dbforpostgresql.azure.upbound.io/v1beta1",
      kind: "FirewallRule",
      spec: {
        forProvider: {
          startIpAddress: from,
          endIpAddress: to,
          serverNameSelector: { matchControllerRef: true },
        },
      },
    });
  }
  desired.prune(({ name }) => name.startsWith("firewall-")); // rules that the list no longer has
});
