import { compose } from "@xfn/functionio/sdk";
import type { XWebsite } from "./types.ts";

export default compose<XWebsite>(({ xr, desired }) => {
  const { namespace, hosts = [] } = xr.spec;
  // The template decides the name of the Service.
  const service = desired.resource("service")?.metadata?.name;

  if (service !== undefined && hosts.length > 0) {
    const backend = { service: { name: service, port: { number: 80 } } };
    const rule = (host: string) => ({ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } });
    desired.apply(
      "ingress",
      {
        apiVersion: "networking.k8s.io/v1",
        kind: "Ingress",
        metadata: { name: xr.metadata.name, namespace },
        spec: { rules: hosts.map(rule), tls: [{ hosts, secretName: `${xr.metadata.name}-tls` }] },
      },
      { readinessChecks: [{ type: "NonEmpty", fieldPath: "status.loadBalancer.ingress" }] },
    );
  }

  // Delete the ingress of a website that has no hosts any more.
  desired.prune((entry) => entry.name === "ingress");
});
