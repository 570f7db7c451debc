from agtp_handlers import AgtpError, handler, run

PRICES = {"single": 80, "double": 120}


@handler
def quote(call, *, room: str, nights: int):
    if room not in PRICES:
        raise AgtpError("room_unknown", f"there is no {room}", {"rooms": sorted(PRICES)})
    return {"price": PRICES[room] * nights}


run()
