import { compose, fatal, type } from "@xfn/functionio/sdk";

interface ImagePolicy {
  readonly allowedRegistries: readonly string[];
}

// Desires nothing: it looks at what the steps before it desire, and ends the run if they may not have it.
export default compose({ config: type<ImagePolicy>() }, ({ config, desired }) => {
  const allowed = config.allowedRegistries;

  for (const name of desired.names()) {
    for (const image of imagesIn(desired.resource(name))) {
      if (allowed.some((registry) => image.startsWith(`${registry}/`))) continue;
      fatal(`${name}: the image ${image} is not from ${allowed.join(" or ")}`);
    }
  }
});

/** The images of all containers in a resource: pods, and whatever has a pod template. */
function imagesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, field]) =>
    key === "image" && typeof field === "string" ? [field] : imagesIn(field),
  );
}
