"""What Passenger loads: the app of this folder, for the user who runs the process."""

from pathlib import Path

from ondemand.web import application_in

application = application_in(Path(__file__).resolve().parent)
