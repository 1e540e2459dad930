import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { deviceNameQuery } from "~/pages/devices/queries";
import { shortId } from "~/ui/copy";

// The name of a device by its id; the id itself while it is not known, or may not be read.
export function DeviceName({ deviceId }: { deviceId: string }) {
  const { data } = useQuery(deviceNameQuery(deviceId));
  return (
    <Link to="/d/$deviceId" params={{ deviceId }} title={deviceId}>
      {data?.name ?? shortId(deviceId)}
    </Link>
  );
}
