import { fatal, type } from "@xfn/functionio/sdk";
import { operate } from "@xfn/functionio/sdk/operate";

interface Restart {
  readonly reason: string;
}

interface Deployment {
  readonly metadata: { readonly name: string; readonly namespace: string };
}

export default operate({ config: type<Restart>() }, ({ config, desired, required, output }) => {
  const [deployment] = required.resources<Deployment>("deployment") ?? [];
  if (deployment === undefined) fatal("the Deployment does not exist; correct the requirement of the step");
  const { name, namespace } = deployment.metadata;

  // The Operation owns this field alone.
  desired.apply("deployment", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: { template: { metadata: { annotations: { "example.org/restarted-for": config.reason } } } },
  });
  output({ restarted: `${namespace}/${name}` });
});
