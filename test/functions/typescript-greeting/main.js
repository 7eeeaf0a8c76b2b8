// A function with the official TypeScript SDK: it composes a ConfigMap with the XR's greeting.
import {
  getObservedCompositeResource,
  normal,
  serve,
  setDesiredResources,
} from "@crossplane-org/function-sdk-typescript";

serve((request, response) => {
  const { name } = getObservedCompositeResource(request).resource.spec;
  const greeting = `${process.env.GREETING ?? ""} ${name}`;
  setDesiredResources(response, { greeting: { apiVersion: "v1", kind: "ConfigMap", data: { greeting } } });
  normal(response, `greeted ${name}`);
  return response;
});
