import { compose, fatal, type } from "@xfn/functionio/sdk";

interface ImagePolicy {
  readonly allowedRegistries: readonly string[];
}

// Desires nothing. Checks the entries of earlier steps, and ends the run if one of their images is not allowed.
export default compose({ config: type<ImagePolicy>() }, ({ config, desired }) => {
  const allowed = config.allowedRegistries;

  for (const name of desired.names()) {
    for (const image of imagesIn(desired.resource(name))) {
      if (allowed.some((registry) => image.startsWith(`${registry}/`))) continue;
      fatal(`${name}: the image ${image} is not from ${allowed.join(" or ")}`);
    }
  }
});

/** Returns the images of all containers of a resource: a pod, or an object with a pod template. */
function imagesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, field]) =>
    key === "image" && typeof field === "string" ? [field] : imagesIn(field),
  );
}
